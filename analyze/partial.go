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
	"github.com/optrace/optrace/analyze/peaks"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/internal/model/opfile"
)

// Partial holds partial results: the sums over an input, in little memory. The files of partial results of several
// parts form one input. [Run] makes the same report of them as of the parts in the same order with SumsOnly.
type Partial struct{ c *collector }

// ReadPartial reads src as [Run] does. opts are the options of later reports, see [Partial.Write]. It returns an error
// if By has key.Root or key.Operator, because their values may be in another part.
func ReadPartial(ctx context.Context, src Source, opts Options) (*Partial, error) {
	if i := slices.IndexFunc(opts.By, key.Key.NeedsTree); i >= 0 {
		const format = "partial results have no groups by %s, which may be in another part of the run"
		return nil, fmt.Errorf(format, opts.By[i])
	}
	opts.SumsOnly = true
	opts.KeepForest = false
	c, err := collect(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	return &Partial{c}, nil
}

// Input returns the counts of the input.
func (p *Partial) Input() Envelope { return p.c.counter.envelope() }

// partialHeader is the first line of partial results. Each other line is an object with one member, such as a table
// row.
type partialHeader struct {
	Schema  string          `json:"schema"`
	Options *partialOptions `json:"options"`
}

// partialOptions are the options with an effect on sums, with defaults filled in.
type partialOptions struct {
	By            []string       `json:"by,omitempty"`
	MaxGroups     int            `json:"max_groups"`
	Top           int            `json:"top"`
	HotspotBytes  int64          `json:"hotspot_bytes"`
	RecordedFLOPs bool           `json:"recorded_flops,omitempty"`
	Peaks         []peaks.Device `json:"peaks,omitempty"`
}

func optionsForm(o profile.Options) *partialOptions {
	o = o.WithDefaults()
	f := &partialOptions{
		MaxGroups: o.MaxGroups, Top: o.Top, HotspotBytes: o.HotspotBytes, RecordedFLOPs: o.RecordedFLOPs,
	}
	for _, k := range o.By {
		f.By = append(f.By, k.String())
	}
	if o.Peaks != nil {
		f.Peaks = o.Peaks.Devices
	}
	return f
}

type inputLine struct {
	counts
	Warnings map[string]int64 `json:"warnings,omitempty"`
	Problems []problemForm    `json:"problems,omitempty"`
}

type problemForm struct {
	File    string `json:"file"`
	Line    int64  `json:"line"`
	Offset  int64  `json:"offset"`
	Message string `json:"message"`
}

// reasonLine is a row of a table in reasonTables.
type reasonLine struct {
	Of string `json:"of"`
	reasonCount
	Other *table.Other `json:"other,omitempty"`
}

type writerLine struct {
	Writer  string       `json:"writer"`
	Batches [][2]int64   `json:"batches"`
	Other   *table.Other `json:"other,omitempty"`
}

type endLine struct {
	Lines int64 `json:"lines"`
}

// Write writes the partial results as JSON Lines with the schema optrace.profile/v1. The document states the options
// with an effect on sums. Reports on it need the same options, but may list fewer entries and omit groups.
func (p *Partial) Write(w io.Writer) error {
	buf := bufio.NewWriter(w)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(partialHeader{opfile.PartialSchema, optionsForm(p.c.opts.sums())})
	lines := int64(1)
	add := func(name string, line any) {
		if err == nil {
			err = enc.Encode(map[string]any{name: line})
			lines++
		}
	}
	p.c.counter.eachLine(add)
	p.c.profile.EachLine(add)
	add("end", endLine{lines})
	if err == nil {
		err = buf.Flush()
	}
	if err != nil {
		return fmt.Errorf("writing partial results: %w", err)
	}
	return nil
}

func (in *counter) eachLine(f func(name string, line any)) {
	all := inputLine{counts: in.counts, Warnings: in.warningsByName()}
	for _, p := range in.problems {
		all.Problems = append(all.Problems, problemForm{p.File, p.Line, p.Offset, p.Msg})
	}
	f("input", all)
	for i, of := range reasonTables {
		in.reasons[i].Each(func(_ string, row *reasonCount, other *table.Other) {
			f("reason", reasonLine{of, *row, other})
		})
	}
	in.writers.Each(func(writer string, row *sequence.Set, other *table.Other) {
		f("writer", writerLine{writer, append([][2]int64{}, row.Ranges...), other})
	})
}
