package kineto

import (
	"github.com/optrace/optrace/ingest/internal/traceevent"
	"github.com/optrace/optrace/op"
)

// maxOpenBytes bounds the memory held for spans that have begun and not ended.
const maxOpenBytes = 64 << 20

// pairs holds the spans that have begun, by thread.
type pairs struct {
	open  map[uint32][]beginning
	count int64 // of the open spans
	bytes int64
}

// beginning is an event of phase B.
type beginning struct {
	name, args []byte
	start      int64
}

func (b *beginning) size() int64 {
	const header = 64
	return int64(len(b.name)+len(b.args)) + header
}

// begin keeps the beginning of a span.
func (r *reader) begin(e *traceevent.Event) {
	p := &r.pairs
	b := beginning{start: e.Start.V}
	b.name = append(b.name, e.Name...)
	b.args = append(b.args, e.Args...)
	if p.bytes+b.size() > maxOpenBytes {
		r.skipped[op.SkipUnpaired]++
		return
	}
	if p.open == nil {
		p.open = make(map[uint32][]beginning)
	}
	thread := r.tables.addThread(e.PID, e.TID)
	p.open[thread] = append(p.open[thread], b)
	p.count++
	p.bytes += b.size()
}

// end yields the span that began last on the thread, and reports whether more records are wanted. The arguments of both
// ends are the span's.
func (r *reader) end(e *traceevent.Event) bool {
	p := &r.pairs
	thread := r.tables.addThread(e.PID, e.TID)
	open := p.open[thread]
	if len(open) == 0 {
		r.skipped[op.SkipUnpaired]++
		return true
	}
	b := open[len(open)-1]
	p.open[thread] = open[:len(open)-1]
	p.count--
	p.bytes -= b.size()
	more, taken := r.plainSpan(b.name, b.start, e.Start.V-b.start, b.args, e.Args)
	if !taken {
		r.skipped[op.SkipNonOp]++
	}
	return more
}
