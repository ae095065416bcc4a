package doctor

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// maxNames bounds the names of operations with counts, maxIDs the ids of spans.
const (
	maxNames = 1 << 12
	maxIDs   = 1 << 16
)

// Doctor examines the records of one input. It is not safe for concurrent use.
type Doctor struct {
	counts [numChecks]int64 // of operations, by the check that examined them
	// byName has the counts per operation name. Names beyond the limit share a row.
	byName *table.Table[nameCounts]
	// ids has the references to each span id. Beyond the limit it is a sample, independent of the order of records.
	ids *table.Table[references]
	// links counts the links, weights the links with a weight.
	links, weights int64
	engines        map[string]int64 // counts the requests of inference engines, by dialect
	children       int64            // counts the operations with a parent
	ranks          map[int64]struct{}
	estimated      float64 // the number of operations before sampling, by the weights of entries
	// pytorch and rocm are set if names of operations are theirs.
	pytorch, rocm bool
	collectives   *trace.Forest // has the collectives of ranks, to compare the clocks of ranks
}

type nameCounts struct {
	name    string
	missing [numChecks]int64
}

func (c *nameCounts) fold(src *nameCounts) {
	for i, n := range src.missing {
		c.missing[i] += n
	}
}

// references counts the references to a span id.
type references struct {
	there           bool // the span itself was read
	children, links int64
}

func (*references) fold(*references) {} // ids outside the sample do not count

// New returns a Doctor without records.
func New() *Doctor {
	return &Doctor{
		byName: table.New(maxNames, (*nameCounts).fold), ids: table.New(maxIDs, (*references).fold),
		engines: make(map[string]int64), ranks: make(map[int64]struct{}), collectives: trace.New(),
	}
}

// Run reads an input and reports its missing properties. It returns the errors of [analyze.Run].
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

// Add examines a record. It keeps no reference to it.
func (d *Doctor) Add(rec op.Record) {
	switch {
	case rec.Entry != nil:
		d.addEntry(rec.Entry)
	case rec.Span != nil:
		d.id(rec.Span.TraceID, rec.Span.SpanID).there = true
		d.addLinks(rec.Span.Links)
		if name := engines.Dialect(rec.Span); name != "" {
			d.engines[name]++
		}
	}
}

func (d *Doctor) addEntry(e *op.Entry) {
	d.id(e.TraceID, e.SpanID).there = true
	d.addLinks(e.Links)
	if e.Rank.Known {
		d.ranks[e.Rank.V] = struct{}{}
		if communicates(e) {
			d.collectives.Add(op.Record{Entry: e})
		}
	}
	if !e.ParentSpanID.IsZero() {
		d.children++
		d.id(e.TraceID, e.ParentSpanID).children++
	}
	d.estimated += max(1, e.AdjustedCount)
	row, isNew := d.byName.Row([]byte(e.Operation))
	if isNew {
		begins := func(prefix string) bool { return strings.HasPrefix(e.Operation, prefix) }
		d.pytorch = d.pytorch || slices.ContainsFunc(operatorNames, begins)
		d.rocm = d.rocm || slices.ContainsFunc(rocmNames, begins)
		row.Value.name = e.Operation
	}
	for i := range checks {
		c := &checks[i]
		if c.lacks == nil || !c.applies(e) {
			continue
		}
		d.counts[i]++
		if c.lacks(e) {
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
		d.id(links[i].TraceID, links[i].SpanID).links++
	}
}

// id returns the references to an id. References to the zero id are discarded.
func (d *Doctor) id(trace op.TraceID, span op.SpanID) *references {
	if span.IsZero() {
		return new(references)
	}
	row, _ := d.ids.Row(append(trace[:], span[:]...))
	return &row.Value
}

func (d *Doctor) isSample() bool { return d.ids.Overflowed() > 0 }

// absent estimates how many of total references lead to missing spans. of returns the references to one id.
func (d *Doctor) absent(total int64, of func(*references) int64) int64 {
	var kept, missing int64
	for r, other := range d.ids.All() {
		if other {
			continue
		}
		if kept += of(r); !r.there {
			missing += of(r)
		}
	}
	if !d.isSample() || kept == 0 {
		return missing
	}
	return int64(math.Round(float64(total) * float64(missing) / float64(kept)))
}
