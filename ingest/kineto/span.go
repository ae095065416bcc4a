package kineto

import (
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/op"
)

// plainSpan yields a span of a plain Chrome trace, if it is one that says something, and reports whether more records
// are wanted. Its arguments are those of args and then those of more.
func (r *reader) plainSpan(name []byte, start, dur int64, args, more []byte) (wanted, taken bool) {
	base := r.timeBase()
	b := r.build
	b.Reset()
	own := &r.own
	own.read(r.feed, args, more)
	spanName := r.names.String(name)
	b.SetName(spanName)
	b.SetTime(opfile.UnixTime(base.V, start), dur)
	rec := op.Record{}
	if e, ok := b.Entry(); ok {
		own.complete(b, e)
		rec.Entry = e
	} else if !own.SpanID.IsZero() {
		rec.Span = own.span(spanName, opfile.UnixTime(base.V, start), dur)
	} else {
		return true, false
	}
	if !base.Known {
		r.baseless++
	}
	return r.yield(rec, nil), true
}
