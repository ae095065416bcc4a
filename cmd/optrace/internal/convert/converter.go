package convert

import (
	"io"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/cmd/optrace/internal/output"
	seedformat "github.com/optrace/optrace/ingest/seed"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/parquet"
	"github.com/optrace/optrace/render/csv"
	"github.com/optrace/optrace/render/otlp"
	"github.com/optrace/optrace/render/otlpprofiles"
)

type options struct {
	out     *output.File
	version string            // of the program
	found   *analyze.Envelope // complete after the last record
	first   *op.Resource      // in front of all other records, or nil
	memory  int64             // bound, 0 for no bound
}

// converter writes records in a format, or collects them for end.
type converter struct {
	// These functions take the records of a kind and must not retain them; nil ignores the kind.
	entry    func(*op.Entry) error
	span     func(*op.Span) error
	call     func(*op.Entry) error
	resource func(*op.Resource) error
	gap      func(*op.Gap) error
	batch    func(*op.Batch) error
	total    func(*op.Total) error

	// end writes the rest of the output.
	end func() error
	// holds returns about the memory held; nil means little.
	holds func() int64
}

func (c *converter) record(rec op.Record) error {
	switch {
	case rec.Entry != nil && c.entry != nil:
		return c.entry(rec.Entry)
	case rec.Span != nil && c.span != nil:
		return c.span(rec.Span)
	case rec.Call != nil && c.call != nil:
		return c.call(rec.Call)
	case rec.Resource != nil && c.resource != nil:
		return c.resource(rec.Resource)
	case rec.Gap != nil && c.gap != nil:
		return c.gap(rec.Gap)
	case rec.Batch != nil && c.batch != nil:
		return c.batch(rec.Batch)
	case rec.Total != nil && c.total != nil:
		return c.total(rec.Total)
	}
	return nil
}

func always[T any](f func(T)) func(T) error {
	return func(v T) error {
		f(v)
		return nil
	}
}

// changed passes on resources different from the last one, which may be nil: files of the Collector repeat them with
// every batch.
func changed(last *op.Resource, f func(*op.Resource) error) func(*op.Resource) error {
	if last != nil {
		last = last.Clone()
	}
	return func(r *op.Resource) error {
		if last != nil && opfile.SameResource(last, r) {
			return nil
		}
		last = r.Clone()
		return f(r)
	}
}

func newEntries(o options) *converter {
	w := entries.NewWriter(o.out, o.first)
	return &converter{
		entry: w.Entry, span: w.Span, call: w.Call, gap: w.Gap, batch: w.Batch,
		resource: changed(o.first, w.Resource), end: w.Flush,
	}
}

// newTrace writes a seed trace. Total and metadata come last, so it need not hold the entries.
func newTrace(o options) *converter {
	enc := seedformat.NewEncoder(nil)
	sum := int64(0)
	metadata := make(map[string]string)
	return &converter{
		entry: func(e *op.Entry) error {
			if e.Side != op.SideHost {
				sum += e.Duration
			}
			enc.Entry(e)
			_, err := o.out.Write(enc.Buf)
			enc.Buf = enc.Buf[:0]
			return err
		},
		resource: always(func(r *op.Resource) {
			for _, a := range r.Attrs {
				metadata[a.Key] = a.Value
			}
		}),
		total: always(func(t *op.Total) { sum += t.Stated - t.Sum }),
		end: func() error {
			_, err := o.out.Write(append(enc.End(sum, metadata), '\n'))
			return err
		},
	}
}

func newCSV(o options) *converter {
	w, err := csv.NewEntryWriter(o.out, csv.Options{Printable: o.out.Terminal})
	if err != nil {
		return &converter{end: func() error { return err }}
	}
	return &converter{entry: w.Write, end: w.Flush}
}

func newOTLP(o options) *converter {
	w := otlp.NewWriter(o.out)
	return &converter{entry: w.Entry, span: w.Span, resource: w.Resource, end: w.Flush}
}

// groupShare is the share of the memory for the texts and numbers of a row group: writing takes several times as much.
const groupShare = 16

func newParquet(o options) *converter {
	w := parquet.NewWriter(o.out)
	if o.memory > 0 {
		w.LimitGroups(o.memory / groupShare)
	}
	return &converter{
		entry: w.Entry, span: w.Span, resource: changed(nil, w.Resource), gap: w.Gap, batch: w.Batch, end: w.Close,
		holds: w.Bytes,
	}
}

// timeline collects operations and spans and writes them at the end.
type timeline[T any] interface {
	*T
	Add(e *op.Entry)
	AddSpan(s *op.Span)
	Bytes() int64
	Write(w io.Writer) error
}

func newTimeline[T any, P timeline[T]](o options) *converter {
	t := P(new(T))
	c := &converter{entry: always(t.Add), span: always(t.AddSpan), holds: t.Bytes,
		end: func() error { return t.Write(o.out) }}
	if t, ok := any(t).(interface{ Resource(r *op.Resource) }); ok {
		c.resource = always(t.Resource)
	}
	return c
}

// newFlat writes the seed's stacks of device and operation.
func newFlat(o options) *converter {
	s := new(seed.Stacks)
	return &converter{entry: always(s.Add), end: func() error { return s.Write(o.out) }}
}

// ofForest returns a converter that needs the structure of the whole input.
func ofForest(f *trace.Forest, end func() error) *converter {
	return &converter{
		entry: always(func(e *op.Entry) { f.Add(op.Record{Entry: e}) }), span: always(f.AddSpan), holds: f.Bytes,
		end: end,
	}
}

func newCollapsed(o options) *converter {
	f := trace.New()
	return ofForest(f, func() error { return stacks.WriteForest(f, o.out) })
}

// stackLimits bounds the texts of a table of stacks to a quarter of the memory, and by the defaults.
func stackLimits(memory int64) stacks.Limits {
	if memory <= 0 {
		return stacks.Limits{}
	}
	const rowBytes = 256
	rows := int(memory / 8 / rowBytes)
	return stacks.Limits{
		Stacks: min(rows, stacks.DefaultStacks), Shapes: min(rows/2, stacks.DefaultShapes),
		Requests: min(rows/2, stacks.DefaultRequests),
	}
}

func newProfile(write func(io.Writer, *stacks.Table, otlpprofiles.Options) error) func(options) *converter {
	return func(o options) *converter {
		f := trace.New()
		from := new(otlpprofiles.Producers)
		lost := int64(0)
		f.KeepShapes()
		c := ofForest(f, func() error {
			opts := otlpprofiles.Options{Producers: from}
			opts.Version = o.version
			opts.Lost = lost
			opts.Unread = o.found.Malformed
			return write(o.out, stacks.Within(f, stackLimits(o.memory)), opts)
		})
		add := c.entry
		c.entry = func(e *op.Entry) error {
			from.Operation(e)
			return add(e)
		}
		c.resource = always(from.Resource)
		c.gap = always(func(g *op.Gap) { lost += g.Dropped })
		return c
	}
}
