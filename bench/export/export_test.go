package export

import (
	"io"
	"testing"

	"github.com/optrace/optrace/bench/measure"
)

// All sides of both suites run, and OTLP comes out byte for byte the same.
func TestSides(t *testing.T) {
	for _, newShapes := range []bool{false, true} {
		open, err := opener(newShapes, 2)(t.Context(), &measure.Env{Progress: io.Discard}, nil)
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
	for _, newShapes := range []bool{false, true} {
		batches, err := sdkBatches(t.Context(), 5, newShapes)
		if err != nil {
			t.Fatal(err)
		}
		first := map[string]bool{}
		for _, b := range batches {
			if len(b) != batchSize {
				t.Errorf("a batch of %d spans", len(b))
			}
			for _, s := range b {
				if len(s.Attributes()) < 8 || !s.Parent().IsValid() {
					t.Fatalf("%s has %d attributes and parent %v", s.Name(), len(s.Attributes()), s.Parent().SpanID())
				}
				first[s.Name()] = true
			}
		}
		const names = 40
		if len(first) != names {
			t.Errorf("%d names, want %d", len(first), names)
		}
	}
}
