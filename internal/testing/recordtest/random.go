package recordtest

import (
	"math/rand/v2"

	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/op"
)

// Clone copies a record of a reader.
func Clone(rec op.Record) op.Record {
	switch {
	case rec.Entry != nil:
		rec.Entry = rec.Entry.Clone()
	case rec.Span != nil:
		rec.Span = rec.Span.Clone()
	case rec.Resource != nil:
		rec.Resource = rec.Resource.Clone()
	case rec.Gap != nil:
		rec.Gap = new(*rec.Gap)
	case rec.Batch != nil:
		rec.Batch = new(*rec.Batch)
	}
	return rec
}

// Random makes random records.
type Random struct{ *rand.Rand }

// Maybe reports true half of the time.
func (r Random) Maybe() bool { return r.IntN(2) == 0 }

// ID returns a random id that is not zero.
func (r Random) ID() (id op.SpanID) {
	for i := range id {
		id[i] = byte(1 + r.IntN(255))
	}
	return id
}

// Entry returns an entry in the form of readers, with any rule for its kind.
func (r Random) Entry() *op.Entry {
	e := optest.RandomEntry(r.Rand)
	e.KindRule = op.KindRule(r.IntN(int(op.RuleDefault) + 1))
	return e
}

// Record returns a record of any kind.
func (r Random) Record() op.Record {
	e := r.Entry()
	switch r.IntN(8) {
	case 0:
		return op.Record{Span: &op.Span{
			Name: e.Path, TraceID: op.TraceID{7}, SpanID: r.ID(), ParentSpanID: r.ID(), RemoteParent: r.Maybe(),
			Start: e.Start, Duration: e.Duration, Service: e.Service, Failed: e.Failed, Attrs: e.Attrs, Links: e.Links,
			Extra: e.Extra,
		}}
	case 1:
		return op.Record{Resource: &op.Resource{Service: e.Service, Rank: e.Rank, WorldSize: e.FLOPs, Attrs: e.Attrs}}
	case 2:
		return op.Record{Gap: &op.Gap{Dropped: r.Int64N(100), Reason: e.Path}}
	case 3:
		return op.Record{Batch: &op.Batch{Writer: e.Path, Sequence: r.Int64N(100), Entries: r.Int64N(100)}}
	}
	return op.Record{Entry: e}
}
