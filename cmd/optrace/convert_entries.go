package main

import (
	"github.com/optrace/optrace/internal/opfile"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/op/seed"
	"github.com/optrace/optrace/render/csv"
)

// entriesConverter writes entries JSON Lines.
type entriesConverter struct {
	out *output
	w   *entries.Writer // created with the first record, so that its header may hold the resource
	// last is the resource of the last header.
	last *op.Resource
}

func newEntriesConverter(out *output) (converter, error) { return &entriesConverter{out: out}, nil }

func (c *entriesConverter) record(rec op.Record) error {
	if rec.Resource != nil {
		return c.resource(rec.Resource)
	}
	c.start(nil)
	switch {
	case rec.Entry != nil:
		return c.w.Entry(rec.Entry)
	case rec.Span != nil:
		return c.w.Span(rec.Span)
	case rec.Gap != nil:
		return c.w.Gap(rec.Gap)
	case rec.Batch != nil:
		return c.w.Batch(rec.Batch)
	}
	return nil
}

// resource writes a header if the resource differs from the last one: files of the
// Collector repeat it with every batch.
func (c *entriesConverter) resource(r *op.Resource) error {
	if c.last != nil && opfile.SameResource(c.last, r) {
		return nil
	}
	c.last = r.Clone()
	if c.w == nil {
		c.start(r)
		return nil
	}
	return c.w.Resource(r)
}

func (c *entriesConverter) start(r *op.Resource) {
	if c.w == nil {
		c.w = entries.NewWriter(c.out, r)
	}
}

func (c *entriesConverter) end() error {
	c.start(nil)
	return c.w.Flush()
}

// traceConverter writes a seed trace. The total and the metadata come last, so
// that it need not hold the entries.
type traceConverter struct {
	out      *output
	enc      *seed.Encoder
	total    int64
	metadata map[string]string
}

func newTraceConverter(out *output) (converter, error) {
	return &traceConverter{out: out, enc: seed.NewEncoder(nil), metadata: make(map[string]string)}, nil
}

func (c *traceConverter) record(rec op.Record) error {
	if r := rec.Resource; r != nil {
		for _, a := range r.Attrs {
			c.metadata[a.Key] = a.Value
		}
	}
	if t := rec.Total; t != nil {
		c.total += t.Stated - t.Sum
	}
	if rec.Entry == nil {
		return nil
	}
	if rec.Entry.Side != op.SideHost {
		c.total += rec.Entry.Duration
	}
	c.enc.Entry(rec.Entry)
	_, err := c.out.Write(c.enc.Buf)
	c.enc.Buf = c.enc.Buf[:0]
	return err
}

func (c *traceConverter) end() error {
	_, err := c.out.Write(append(c.enc.End(c.total, c.metadata), '\n'))
	return err
}

// csvConverter writes a row per operation.
type csvConverter struct{ w *csv.EntryWriter }

func newCSVConverter(out *output) (converter, error) {
	w, err := csv.NewEntryWriter(out, csv.Options{Printable: out.terminal})
	if err != nil {
		return nil, err
	}
	return csvConverter{w}, nil
}

func (c csvConverter) record(rec op.Record) error {
	if rec.Entry == nil {
		return nil
	}
	return c.w.Write(rec.Entry)
}

func (c csvConverter) end() error { return c.w.Flush() }
