package analyze

import (
	"errors"

	"github.com/optrace/optrace/op"
)

// Collector takes what a reader finds into everything that a report needs.
//
//	c := analyze.NewCollector(analyze.DefaultOptions(), true)
//	for rec, err := range in.Records() {
//		if err := c.Add(rec, err); err != nil {
//			return err
//		}
//	}
//	report := c.Report()
//
// It is not safe for concurrent use. Workers that share an input have one each,
// and say which part of it they are at:
//
//	worker.StartFile(part.File) // where there are several
//	worker.StartChunk(part.Number)
//	... Add ...
//
//	c := analyze.MergeCollectors(workers...)
//	for i, f := range files {
//		c.StartFile(int64(i))
//		c.EndFile(f.Format, f.Bytes)
//	}
//	report := c.Report()
//
// The report is then the one that a single Collector makes of the whole input,
// whichever parts each worker had.
type Collector struct {
	// Input counts what was read.
	Input *Input
	// Profile sums up the entries.
	Profile *Profile
	// Trace holds their structure; nil where that is not asked for.
	Trace *Forest

	opts Options
}

// NewCollector returns a Collector. Without the structure it needs memory for
// the distinct operations and devices only, and the structural figures of the
// report are nil.
func NewCollector(opts Options, structure bool) *Collector {
	c := &Collector{Input: NewInput(), Profile: NewProfile(opts), opts: opts}
	if structure {
		c.Trace = NewForest(TraceOptions{})
	}
	return c
}

// Add takes a record, or the error that a reader has in place of one. A
// *op.SyntaxError is counted, and reading goes on; any other error ends the
// input and is returned. What the record leads to is not kept.
func (c *Collector) Add(rec op.Record, err error) error {
	if err != nil {
		if _, ok := errors.AsType[*op.SyntaxError](err); !ok {
			return err
		}
		c.Input.Add(op.Record{}, err)
		return nil
	}
	if rec.Entry != nil && rec.Skipped.N == 0 {
		c.AddEntry(rec.Entry)
		return nil
	}
	c.Input.Add(rec, nil)
	switch {
	case rec.Entry != nil:
		c.addToFigures(rec.Entry)
	case rec.Span != nil && c.Trace != nil:
		c.Trace.AddSpan(rec.Span)
	}
	return nil
}

// AddEntry is Add for a record of nothing but an entry, as nearly all are. It
// spares the reader 5 ns for the record.
func (c *Collector) AddEntry(e *op.Entry) {
	c.Input.addEntry(e)
	c.addToFigures(e)
}

func (c *Collector) addToFigures(e *op.Entry) {
	c.Profile.Add(e)
	if c.Trace != nil {
		c.Trace.Add(e)
	}
}

// StartChunk tells that what is added from now on is of the chunk-th part of the
// input; see [Profile.StartChunk] and [Forest.StartChunk].
func (c *Collector) StartChunk(chunk int64) {
	c.Profile.StartChunk(chunk)
	if c.Trace != nil {
		c.Trace.StartChunk(chunk)
	}
}

// StartFile tells that what is added from now on is of the file-th file of the
// input; see [Input.StartFile].
func (c *Collector) StartFile(file int64) { c.Input.StartFile(file) }

// EndFile ends a file of the input; see [Input.EndFile].
func (c *Collector) EndFile(format string, bytes int64) { c.Input.EndFile(format, bytes) }

// Merge adds what another Collector, with the same options, holds; see the
// Merge methods of its parts. The other one stays as it is.
func (c *Collector) Merge(other *Collector) {
	c.Input.Merge(other.Input)
	c.Profile.Merge(other.Profile)
	if c.Trace != nil && other.Trace != nil {
		c.Trace.Merge(other.Trace)
	}
}

// MergeCollectors merges the Collectors of workers, which have the same options,
// into the first of them and returns it. The others must not be used any more:
// the memory that their structure takes becomes that of the first, so that ten
// million entries need no more of it than before. It returns nil for no workers.
func MergeCollectors(workers ...*Collector) *Collector {
	if len(workers) == 0 {
		return nil
	}
	c, others := workers[0], workers[1:]
	var traces []*Forest
	for _, o := range others {
		c.Input.Merge(o.Input)
		c.Profile.Merge(o.Profile)
		if o.Trace != nil {
			traces = append(traces, o.Trace)
		}
	}
	if c.Trace != nil && len(traces) > 0 {
		c.Trace.take(traces)
	}
	return c
}

// Report returns the report on what has been added; see [NewReport].
func (c *Collector) Report() *Report { return NewReport(c.Input, c.Profile, c.Trace, c.opts) }
