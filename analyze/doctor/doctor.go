package doctor

import (
	"context"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// maxNames bounds the names of operations that counts are kept for.
const maxNames = 1 << 12

// Doctor looks at the records of one input. It is not safe for concurrent use.
type Doctor struct {
	counts [numChecks]counts
	// byName has the counts of each name. Names beyond the limit share a row.
	byName *table.Table[nameCounts]
	ids    idSample
	// links counts the links, weights those with a weight.
	links, weights int64
	// engines counts the spans that are requests of engines, by dialect.
	engines map[string]int64
	// children counts the operations with a parent.
	children int64
}

// counts counts operations that a check looked at, and those that lack what it is about.
type counts struct{ of, missing int64 }

// nameCounts has what the operations of one name lack.
type nameCounts struct {
	name    string
	missing [numChecks]int64
}

func (c *nameCounts) fold(src *nameCounts) {
	for i, n := range src.missing {
		c.missing[i] += n
	}
}

// New returns a Doctor that has seen nothing.
func New() *Doctor {
	return &Doctor{byName: table.New(maxNames, (*nameCounts).fold), ids: newIDSample(maxIDs), engines: make(map[string]int64)}
}

// Run reads an input and returns what it lacks. Errors are those of [analyze.Run].
func Run(ctx context.Context, src analyze.Source) (*Report, error) {
	d := New()
	if s, ok := src.(interface{ Want(attr.Want) }); ok {
		s.Want(attr.Want{Spans: engines.Keys()})
	}
	env, err := analyze.Read(ctx, src, d.Add)
	if err != nil {
		return nil, err
	}
	return d.Report(*env), nil
}

// Add looks at a record, of which nothing is kept.
func (d *Doctor) Add(rec op.Record) {
	switch {
	case rec.Entry != nil:
		d.addEntry(rec.Entry)
	case rec.Span != nil:
		d.ids.change(rec.Span.TraceID, rec.Span.SpanID, isThere)
		d.addLinks(rec.Span.Links)
		if name := engines.Dialect(rec.Span); name != "" {
			d.engines[name]++
		}
	}
}

func (d *Doctor) addEntry(e *op.Entry) {
	d.ids.change(e.TraceID, e.SpanID, isThere)
	d.addLinks(e.Links)
	if !e.ParentSpanID.IsZero() {
		d.children++
		d.ids.change(e.TraceID, e.ParentSpanID, func(r *references) { r.children++ })
	}
	row, isNew := d.byName.Row([]byte(e.Operation))
	if isNew {
		row.Value.name = e.Operation
	}
	for i := range checks {
		c := &checks[i]
		if c.lacks == nil || !c.applies(e) {
			continue
		}
		d.counts[i].of++
		if c.lacks(e) {
			d.counts[i].missing++
			row.Value.missing[i]++
		}
	}
}

func (d *Doctor) addLinks(links []op.Link) {
	for i := range links {
		d.links++
		if links[i].Weight.Known {
			d.weights++
		}
		d.ids.change(links[i].TraceID, links[i].SpanID, func(r *references) { r.links++ })
	}
}
