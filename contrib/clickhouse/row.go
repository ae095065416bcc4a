package clickhouse

import (
	"fmt"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

type row struct {
	input, number uint64
	record        string

	// e is an entry, or has the fields that another record shares with entries. about is its collective.
	e     op.Entry
	about op.Collective
	// shapes and work are derived from an entry; derived is set if the FLOPs are.
	shapes  string
	work    flops.Work
	derived bool
	// Fields of spans, resources, gaps and batches.
	name      string
	remote    bool
	worldSize op.Int
	gap       op.Gap
	batch     op.Batch
	extra     string // the rest of the record as JSON

	sets    []func() // set the fields from scanned columns
	failed  error    // of a set
	scratch []byte
}

func (r *row) values(dst []any, list []column) []any {
	for _, c := range list {
		dst = append(dst, c.value(r))
	}
	return dst
}

// places returns pointers to scan the columns into.
func (r *row) places(list []column) (places []any) {
	for _, c := range list {
		place, set := c.place(r)
		r.sets = append(r.sets, set)
		places = append(places, place)
	}
	return places
}

// scanned sets the fields from the scanned columns.
func (r *row) scanned() error {
	for _, set := range r.sets {
		if set(); r.failed != nil {
			return fmt.Errorf("row %d of input %d: %w", r.number, r.input, r.failed)
		}
	}
	return nil
}

func (r *row) fail(format string, args ...any) { r.failed = fmt.Errorf(format, args...) }

// The values of the column record.
const (
	recordEntry    = "entry"
	recordSpan     = "span"
	recordResource = "resource"
	recordGap      = "gap"
	recordBatch    = "batch"
)

// set makes r the row of a record and shares its texts and lists. ok is false for a record without a row.
func (r *row) set(rec op.Record) (ok bool) {
	*r = row{input: r.input, number: r.number, scratch: r.scratch}
	switch {
	case rec.Entry != nil:
		r.setEntry(rec.Entry)
	case rec.Span != nil:
		s := rec.Span
		r.record = recordSpan
		r.name = s.Name
		r.remote = s.RemoteParent
		r.e = op.Entry{
			TraceID: s.TraceID, SpanID: s.SpanID, ParentSpanID: s.ParentSpanID, Start: s.Start, Duration: s.Duration,
			Service: s.Service,
			Failed:  s.Failed, Attrs: s.Attrs, Links: s.Links, Extra: s.Extra,
		}
	case rec.Resource != nil:
		s := rec.Resource
		r.record = recordResource
		r.worldSize = s.WorldSize
		r.e = op.Entry{Service: s.Service, Rank: s.Rank, Attrs: s.Attrs}
	case rec.Gap != nil:
		r.record = recordGap
		r.gap = *rec.Gap
	case rec.Batch != nil:
		r.record = recordBatch
		r.batch = *rec.Batch
	default:
		return false
	}
	r.scratch = opfile.AppendRest(r.scratch[:0], r.e.Attrs, r.e.Links, r.e.Extra)
	r.extra = string(r.scratch)
	return true
}

func (r *row) setEntry(e *op.Entry) {
	r.record = recordEntry
	r.e = *e
	r.work = flops.Of(e)
	if e.Collective != nil {
		r.about = *e.Collective
	}
	r.scratch = opfile.AppendShapes(r.scratch[:0], e)
	r.shapes = string(r.scratch)
	// Recorded FLOPs win over derived ones. Bytes are only known together with FLOPs.
	if r.derived = !e.FLOPs.Known && r.work.FLOPs.Known; !r.derived {
		r.work.FLOPs = e.FLOPs
	}
	if !r.work.FLOPs.Known {
		r.work.Bytes = op.Int{}
	}
}

// entry returns the entry of the row and shares nothing with it.
func (r *row) entry() *op.Entry {
	e := r.e
	e.Extra, _ = entries.DecodeRest(r.extra, e.Attrs, e.Links)
	return &e
}

// size returns the approximate size of the row in bytes.
func (r *row) size() int {
	const fixed = 400
	e := &r.e
	n := fixed + len(e.Operation) + len(r.shapes) + len(e.Root) + len(e.Error) + len(e.Path) + len(e.Scope) +
		len(r.name) + len(r.extra) + len(e.Service) + len(e.Host) + 8*len(e.OutputShape) + 64*len(e.Links)
	for _, s := range e.InputShapes {
		n += 8 + 8*len(s)
	}
	for _, a := range e.Attrs {
		n += 16 + len(a.Key) + len(a.Value)
	}
	return n
}
