package analyze

import (
	"fmt"

	"github.com/optrace/optrace/analyze/internal/sequence"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/op"
)

// addForm adds what a line has.
func (d *partialDoc) addForm(l *partialLine) error {
	switch {
	case l.Input != nil:
		return d.addInput(l.Input)
	case l.Reason != nil:
		return d.addReason(l.Reason)
	case l.Writer != nil:
		return d.addWriter(l.Writer)
	}
	d.totals = d.totals || l.Totals != nil
	return d.profile.AddLine(&l.Line, d.hold)
}

// maxBytes bounds the sizes of files.
const maxBytes = 1 << 56

func (d *partialDoc) addInput(f *inputForm) error {
	c := d.counter
	if d.input {
		return profile.ErrTwice
	}
	d.input = true
	for _, n := range []int64{f.Files, f.Entries, f.NoOps, f.Weighted, f.Truncated} {
		if !wide.IsCount(n, wide.MaxCount) {
			return profile.ErrNumber
		}
	}
	if !wide.IsCount(f.Bytes, maxBytes) || min(f.Malformed, f.Dropped, f.DroppedLinks, f.MissingEntries) < 0 || len(f.Problems) > maxProblems {
		return profile.ErrNumber
	}
	c.counts, c.Formats = f.counts, nil
	for _, name := range f.Formats {
		c.addFormat(name)
	}
	for name, n := range f.Warnings {
		w, ok := op.ParseWarning(name)
		if !ok || !wide.IsCount(n, wide.MaxCount) {
			return fmt.Errorf("warning %q of %d entries: %w", name, n, profile.ErrNumber)
		}
		for bit := range c.warnings {
			if w == 1<<bit {
				c.warnings[bit] = n
			}
		}
	}
	for _, p := range f.Problems {
		c.addProblem(&op.SyntaxError{File: p.File, Line: p.Line, Offset: p.Offset, Msg: p.Message})
	}
	return nil
}

func (d *partialDoc) addReason(f *reasonForm) error {
	for _, of := range reasonTables {
		if of.name == f.Of && f.N >= 0 {
			return of.table(d.counter).Put([]byte(f.Reason), reasonCount{f.Reason, f.N}, f.Other)
		}
	}
	return profile.ErrText
}

func (d *partialDoc) addWriter(f *writerForm) error {
	var set sequence.Set
	for _, r := range f.Batches {
		if r[0] > r[1] {
			return profile.ErrNumber
		}
		set.AddRange(r[0], r[1])
	}
	return d.counter.writers.Put([]byte(f.Writer), set, f.Other)
}
