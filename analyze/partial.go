package analyze

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/optrace/optrace/analyze/internal/sequence"
	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/internal/opfile"
)

// Partial holds partial results: the sums over an input, in little memory. Partial results
// of parts of an input, written to files, are together an input with the same sums: [Run]
// makes the report of them that it makes of the parts with SumsOnly, in the same order.
type Partial struct{ c *collector }

// ReadPartial reads an input as [Run] does. Options are those of the reports that are to be
// made, see [Partial.Write]. Local roots and operators are none of the keys of By: they may be in another
// part.
func ReadPartial(ctx context.Context, src Source, opts Options) (*Partial, error) {
	if i := slices.IndexFunc(opts.By, key.Key.NeedsTree); i >= 0 {
		return nil, fmt.Errorf("partial results have no groups by %s, which may be in another part of the run", opts.By[i])
	}
	opts.SumsOnly, opts.KeepForest = true, false
	c, err := collect(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	return &Partial{c}, nil
}

// Input returns the counts of the input.
func (p *Partial) Input() Envelope { return p.c.counter.envelope() }

// Write writes the partial results as a document of the schema optrace.profile/v1, lines of
// JSON. It holds the options that shape the sums: reports on it have the same, but that they
// may list fewer entries and leave the groups out.
func (p *Partial) Write(w io.Writer) error {
	buf := bufio.NewWriter(w)
	e := partialWriter{enc: json.NewEncoder(buf)}
	e.enc.SetEscapeHTML(false)
	e.line(&partialLine{Schema: opfile.PartialSchema, Options: optionsForm(p.c.opts.sums())})
	e.counter(p.c.counter)
	p.c.profile.EachLine(func(l *profile.Line) { e.line(&partialLine{Line: *l}) })
	e.line(&partialLine{End: &endForm{Lines: e.lines}})
	if e.err == nil {
		e.err = buf.Flush()
	}
	if e.err != nil {
		return fmt.Errorf("writing partial results: %w", e.err)
	}
	return nil
}

// partialWriter writes lines until an error.
type partialWriter struct {
	enc   *json.Encoder
	lines int64
	err   error
}

func (w *partialWriter) line(l *partialLine) {
	if w.err == nil {
		w.err = w.enc.Encode(l)
		w.lines++
	}
}

// counter writes the counts of the input.
func (w *partialWriter) counter(c *counter) {
	f := &inputForm{counts: c.counts, Warnings: c.warningsByName()}
	for _, p := range c.problems {
		f.Problems = append(f.Problems, problemForm{p.File, p.Line, p.Offset, p.Msg})
	}
	w.line(&partialLine{Input: f})
	for _, of := range reasonTables {
		of.table(c).Each(func(_ string, row *reasonCount, other *table.Other) {
			w.line(&partialLine{Reason: &reasonForm{Of: of.name, Reason: row.reason, N: row.n, Other: other}})
		})
	}
	c.writers.Each(func(key string, row *sequence.Set, other *table.Other) {
		w.line(&partialLine{Writer: &writerForm{Writer: key, Batches: row.Ranges(), Other: other}})
	})
}

// reasonTables are the tables of a counter by reason.
var reasonTables = [...]struct {
	name  string
	table func(*counter) *table.Table[reasonCount]
}{
	{"skipped", func(c *counter) *table.Table[reasonCount] { return c.skippedBy }},
	{"malformed", func(c *counter) *table.Table[reasonCount] { return c.malformedBy }},
	{"dropped", func(c *counter) *table.Table[reasonCount] { return c.droppedBy }},
}

func optionsForm(o profile.Options) *partialOptions {
	o = o.WithDefaults()
	f := &partialOptions{MaxGroups: o.MaxGroups, Top: o.Top, HotspotBytes: o.HotspotBytes, RecordedFLOPs: o.RecordedFLOPs}
	for _, k := range o.By {
		f.By = append(f.By, k.String())
	}
	if o.Peaks != nil {
		f.Peaks = o.Peaks.Devices
	}
	return f
}
