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
// and call [Profile.StartChunk] before each part.
type Collector struct {
	// Input counts what was read.
	Input *Input
	// Profile sums up the entries.
	Profile *Profile
	// Trace holds their structure; nil where that is not asked for.
	Trace *Trace

	opts Options
}

// NewCollector returns a Collector. Without the structure it needs memory for
// the distinct operations and devices only, and the structural figures of the
// report are nil.
func NewCollector(opts Options, structure bool) *Collector {
	c := &Collector{Input: NewInput(), Profile: NewProfile(opts), opts: opts}
	if structure {
		c.Trace = NewTrace(TraceOptions{})
	}
	return c
}

// Add takes a record, or the error that a reader has in place of one. A
// *op.SyntaxError is counted, and reading goes on; any other error ends the
// input and is returned. What the record leads to is not kept.
func (c *Collector) Add(rec op.Record, err error) error {
	var syntax *op.SyntaxError
	if err != nil && !errors.As(err, &syntax) {
		return err
	}
	c.Input.Add(rec, err)
	if rec.Entry != nil {
		c.Profile.Add(rec.Entry)
	}
	switch {
	case c.Trace == nil:
	case rec.Entry != nil:
		c.Trace.Add(rec.Entry)
	case rec.Span != nil:
		c.Trace.AddSpan(rec.Span)
	}
	return nil
}

// EndFile ends a file of the input; see [Input.EndFile].
func (c *Collector) EndFile(format string, bytes int64) { c.Input.EndFile(format, bytes) }

// Merge adds what another Collector, with the same options, holds; see the
// Merge methods of its parts.
func (c *Collector) Merge(other *Collector) {
	c.Input.Merge(other.Input)
	c.Profile.Merge(other.Profile)
	if c.Trace != nil && other.Trace != nil {
		c.Trace.Merge(other.Trace)
	}
}

// Report returns the report on what has been added; see [NewReport].
func (c *Collector) Report() *Report { return NewReport(c.Input, c.Profile, c.Trace, c.opts) }
