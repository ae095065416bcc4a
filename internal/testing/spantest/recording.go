package spantest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Recording has the records of an exported file.
type Recording struct {
	Entries   []*op.Entry
	Spans     []op.Span
	Gaps      []op.Gap
	Batches   []op.Batch
	InBatch   []int64 // number of entries after each batch record
	Resources []op.Resource
	Malformed []*op.SyntaxError
}

// Read reads a file in any format of an exporter, compressed or not. Every entry must be valid.
func Read(tb testing.TB, text []byte) *Recording {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "recording")
	check.OK(tb, os.WriteFile(path, text, 0o600))
	rec := new(Recording)
	for found, err := range ingest.Open(path).Records() {
		var syntax *op.SyntaxError
		switch {
		case errors.As(err, &syntax):
			rec.Malformed = append(rec.Malformed, syntax)
		case err != nil:
			tb.Fatalf("reading what was written: %v", err)
		default:
			rec.add(tb, found)
		}
	}
	return rec
}

// ReadWhole is Read for a file without malformed records.
func ReadWhole(tb testing.TB, text []byte) *Recording {
	tb.Helper()
	rec := Read(tb, text)
	for _, err := range rec.Malformed {
		tb.Errorf("a record cannot be read: %v", err)
	}
	return rec
}

func (rec *Recording) add(tb testing.TB, found op.Record) {
	tb.Helper()
	switch {
	case found.Entry != nil:
		if err := found.Entry.Validate(); err != nil {
			tb.Errorf("an entry is not valid: %v", err)
		}
		rec.Entries = append(rec.Entries, found.Entry.Clone())
		if n := len(rec.InBatch); n > 0 {
			rec.InBatch[n-1]++
		}
	case found.Span != nil:
		rec.Spans = append(rec.Spans, *found.Span.Clone())
	case found.Gap != nil:
		rec.Gaps = append(rec.Gaps, *found.Gap)
	case found.Batch != nil:
		rec.Batches = append(rec.Batches, *found.Batch)
		rec.InBatch = append(rec.InBatch, 0)
	case found.Resource != nil:
		rec.Resources = append(rec.Resources, *found.Resource.Clone())
	case found.Skipped.N > 0:
		tb.Errorf("an exporter wrote what its reader skips: %+v", found.Skipped)
	}
}

// Steps returns the steps of the entries. [Operations] numbers operations by step.
func (rec *Recording) Steps() (steps []int64) {
	for _, e := range rec.Entries {
		steps = append(steps, e.Step.V)
	}
	return steps
}

// Lost returns the number of entries in gap records.
func (rec *Recording) Lost() (n uint64) {
	for _, g := range rec.Gaps {
		n += uint64(g.Dropped)
	}
	return n
}

// CheckBatches checks that each writer numbers its batches without a hole and states their entries.
func (rec *Recording) CheckBatches(tb testing.TB) {
	tb.Helper()
	next := make(map[string]int64)
	for i, b := range rec.Batches {
		if n := rec.InBatch[i]; b.Sequence != next[b.Writer] || n != b.Entries {
			tb.Errorf("writer %s goes on with batch %d of %d entries, says %d, want %d", b.Writer, b.Sequence, n,
				b.Entries, next[b.Writer])
		}
		next[b.Writer] = b.Sequence + 1
	}
}

// UpTo returns the numbers from 0 to n-1: the steps of n operations.
func UpTo(n int) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(i)
	}
	return all
}
