package optrace_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
)

// E5: a writer that changes what it is given, which io.Writer forbids, spoils no
// later batch, in any format.
func TestWriterThatChangesItsInput(t *testing.T) {
	for _, o := range outputs() {
		var out bytes.Buffer
		exp := newExporter(t, spantest.WriterFunc(func(p []byte) (int, error) {
			n, err := out.Write(p)
			for i := range p {
				p[i] = 'x'
			}
			return n, err
		}), o.options()...)
		proc := newProcessor(t, exp)
		for i := range 4 {
			for j := range 3 {
				proc.OnEnd(spantest.Operation(3*i + j).Snapshot())
			}
			if err := proc.ForceFlush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := proc.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := spantest.Read(t, out.Bytes()).Steps()
		slices.Sort(got)
		if !slices.Equal(got, spantest.UpTo(12)) {
			t.Errorf("%v: operations %v", o, got)
		}
	}
}

// E6: a nil context is taken for context.Background.
func TestNilContexts(t *testing.T) {
	var none context.Context
	var buf spantest.Buffer
	proc := newProcessor(t, newExporter(t, &buf))
	proc.OnEnd(spantest.Operation(0).Snapshot())
	if err := proc.ForceFlush(none); err != nil {
		t.Error(err)
	}
	rec := proc.Recorder(none)
	rec.Begin("matmul", "cuda:0")
	rec.Finish()
	if err := proc.Shutdown(none); err != nil {
		t.Error(err)
	}
	if n := len(spantest.ReadWhole(t, buf.Bytes()).Entries); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
	spans := recordSpans(t, func(tr *optrace.Tracer) {
		_, o := tr.Start(none, "matmul", "cuda:0")
		o.End()
		_, prepared := prepare(t, tr, optrace.OpSpec{Name: "matmul"}).Start(none)
		prepared.End()
		rec := tr.Recorder(none)
		rec.Begin("matmul", "cuda:0")
		rec.Finish()
	})
	if len(spans) != 3 {
		t.Errorf("%d spans, want 3", len(spans))
	}
}
