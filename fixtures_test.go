package optrace_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
)

// recording is what a reader finds in what an exporter wrote.
type recording struct {
	entries   []*op.Entry
	spans     []op.Span
	gaps      []op.Gap
	batches   []op.Batch
	inBatch   []int64 // how many entries follow each batch record
	resources []op.Resource
	malformed []*op.SyntaxError
}

// lost returns how many entries the gap records speak of.
func (rec *recording) lost() (n uint64) {
	for _, g := range rec.gaps {
		n += uint64(g.Dropped)
	}
	return n
}

// add adds a record and checks that every entry is valid.
func (rec *recording) add(tb testing.TB, found op.Record) {
	tb.Helper()
	switch {
	case found.Entry != nil:
		if err := found.Entry.Validate(); err != nil {
			tb.Errorf("an entry is not valid: %v", err)
		}
		rec.entries = append(rec.entries, found.Entry.Clone())
		if n := len(rec.inBatch); n > 0 {
			rec.inBatch[n-1]++
		}
	case found.Span != nil:
		rec.spans = append(rec.spans, *found.Span.Clone())
	case found.Gap != nil:
		rec.gaps = append(rec.gaps, *found.Gap)
	case found.Batch != nil:
		rec.batches, rec.inBatch = append(rec.batches, *found.Batch), append(rec.inBatch, 0)
	case found.Resource != nil:
		res := *found.Resource
		res.Attrs = slices.Clone(res.Attrs)
		rec.resources = append(rec.resources, res)
	case found.Skipped.N > 0:
		tb.Errorf("an exporter wrote what its reader skips: %+v", found.Skipped)
	}
}

// read reads entries JSON Lines.
func read(tb testing.TB, text []byte) *recording {
	tb.Helper()
	var rec recording
	r := op.NewReader(bytes.NewReader(text), "recording")
	for {
		found, err := r.Next()
		if errors.Is(err, io.EOF) {
			return &rec
		}
		var syntax *op.SyntaxError
		switch {
		case errors.As(err, &syntax):
			rec.malformed = append(rec.malformed, syntax)
			continue
		case err != nil:
			tb.Fatalf("reading what was written: %v", err)
		}
		rec.add(tb, found)
	}
}

// readWhole is read for text in which every line must be readable.
func readWhole(tb testing.TB, text []byte) *recording {
	tb.Helper()
	rec := read(tb, text)
	for _, err := range rec.malformed {
		tb.Errorf("a line cannot be read: %v", err)
	}
	return rec
}

// checkBatches checks that each writer's batches are numbered without a hole
// and hold as many entries as they say. A writer that was killed may have left
// its last batch incomplete.
func checkBatches(tb testing.TB, rec *recording, killed bool) {
	tb.Helper()
	next := make(map[string]int64)
	last := make(map[string]int)
	for i, b := range rec.batches {
		if b.Sequence != next[b.Writer] {
			tb.Errorf("writer %s goes on with batch %d, want %d", b.Writer, b.Sequence, next[b.Writer])
		}
		next[b.Writer] = b.Sequence + 1
		last[b.Writer] = i
	}
	for i, b := range rec.batches {
		if n := rec.inBatch[i]; n != b.Entries && !(killed && i == last[b.Writer] && n < b.Entries) {
			tb.Errorf("batch %d of writer %s holds %d entries, says %d", b.Sequence, b.Writer, n, b.Entries)
		}
	}
}

// checkBooks checks that after Shutdown every operation is written or dropped.
func checkBooks(tb testing.TB, what string, st optrace.Stats) {
	tb.Helper()
	if st.Recorded != st.Written+st.Dropped {
		tb.Errorf("%s: recorded %d, but written %d + dropped %d = %d",
			what, st.Recorded, st.Written, st.Dropped, st.Written+st.Dropped)
	}
}

// newExporter returns an exporter to w.
func newExporter(tb testing.TB, w io.Writer, opts ...optrace.ExporterOption) *optrace.Exporter {
	tb.Helper()
	exp, err := optrace.NewExporter(w, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return exp
}

// newProcessor returns a processor that the test shuts down.
func newProcessor(tb testing.TB, exp *optrace.Exporter, opts ...optrace.ProcessorOption) *optrace.Processor {
	tb.Helper()
	p, err := optrace.NewProcessor(exp, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// newForwarder returns a forwarder that the test shuts down.
func newForwarder(tb testing.TB, next sdktrace.SpanExporter, opts ...optrace.ForwarderOption) *optrace.Processor {
	tb.Helper()
	p, err := optrace.NewForwarder(next, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// steps returns the steps of entries, which number the operations of opSpans.
func steps(entries []*op.Entry) []int64 {
	got := make([]int64, len(entries))
	for i, e := range entries {
		got[i] = e.Step.V
	}
	return got
}

// upTo returns the numbers from 0 to n-1.
func upTo(n int) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(i)
	}
	return all
}

var errDisk = fmt.Errorf("no space left on device")
