package record

import (
	"context"
	"io"
	"testing"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/internal/cases"
)

// Each side records as many operations as it is asked to, and nothing gets lost.
func TestOperations(t *testing.T) {
	for i := range sets {
		w, err := newOperations(&sets[i])
		if err != nil {
			t.Fatal(err)
		}
		for name, record := range w.sides() {
			for range 2 {
				if err := record(t.Context(), opsPerStep+100); err != nil {
					t.Errorf("%s, %s: %v", sets[i].name, name, err)
				}
			}
		}
		if st := w.processor.Stats(); st.Written != 2*(opsPerStep+100) {
			t.Errorf("%s: %d operations were encoded", sets[i].name, st.Written)
		}
		if err := w.lossless(); err != nil {
			t.Error(err)
		}
		for _, err := range w.close() {
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// The sides of the suites on exporting run, and OTLP comes out byte for byte the
// same.
func TestExport(t *testing.T) {
	for _, set := range append([]set{newShapesSet}, exportSets...) {
		open, err := openExport(t.Context(), &set)
		if err != nil {
			t.Fatal(err)
		}
		for name, side := range open.Sides {
			if s, err := side(t.Context()); err != nil || s.N%batchSize != 0 || s.N == 0 {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
		}
		if err := open.Check(); err != nil {
			t.Error(err)
		}
		if err := open.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestBatches(t *testing.T) {
	for _, s := range append([]set{newShapesSet}, exportSets...) {
		batches, err := sdkBatches(t.Context(), &s, s.ops(), 5)
		if err != nil {
			t.Fatal(err)
		}
		names, steps := map[string]bool{}, map[string]bool{}
		for _, b := range batches {
			if len(b) != batchSize {
				t.Errorf("%s: a batch of %d spans", s.name, len(b))
			}
			for _, span := range b {
				names[span.Name()] = true
				steps[span.Parent().SpanID().String()] = true
				least := 8
				if s.steps {
					least++
				}
				if len(span.Attributes()) < least || !span.Parent().IsValid() {
					t.Fatalf("%s: %s has %d attributes and parent %v", s.name, span.Name(), len(span.Attributes()), span.Parent().SpanID())
				}
			}
		}
		if len(names) != 40 || s.steps != (len(steps) > 1) {
			t.Errorf("%s: %d names, %d steps", s.name, len(names), len(steps))
		}
	}
}

// Without losses everything arrives, round by round.
func TestPipelines(t *testing.T) {
	want := measure.Want{batchOTLP: true, batchDiscard: true, oursEntries: true, oursOTLP: true, oneDiscard: true, oneEntries: true}
	for i := range cases.Some(t, 1, len(sets)) {
		open, err := openPipelines(&measure.Env{Progress: io.Discard, Quick: true}, want, &sets[i], 1000, true)
		if err != nil {
			t.Fatal(err)
		}
		for name, side := range open.Sides {
			for range 2 {
				if s, err := side(t.Context()); err != nil || s.N != 1000 {
					t.Errorf("%s: %+v, %v", name, s, err)
				}
			}
		}
		if len(open.Sides) != len(want) {
			t.Errorf("%d sides, want %d", len(open.Sides), len(want))
		}
		lost, err := open.After(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, share := range lost {
			if share < 0 || share > 1 || name == "lost_ours" && share != 0 {
				t.Errorf("%s: %v", name, share)
			}
		}
		if err := open.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A run goes through all operations in turn and numbers its steps.
func TestRun(t *testing.T) {
	ops := []operation{oneOp(), oneOp(), oneOp()}
	w, err := newOperations(&sets[1])
	if err != nil {
		t.Fatal(err)
	}
	r := newRun(&sets[1], ops, w.byHand, 1)
	var seen [3]int
	for range 2 {
		r.each(t.Context(), opsPerStep+1, func(_ context.Context, i int) {
			seen[i]++
			if attrs := r.attrs(i); attrs[len(attrs)-1].Value.AsInt64() != r.number-1 {
				t.Errorf("step %v", attrs[len(attrs)-1])
			}
		})
	}
	if r.number != 4 || seen != [3]int{1334, 1334, 1334} {
		t.Errorf("%d steps, operations %v", r.number, seen)
	}
}
