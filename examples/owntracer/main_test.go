package main

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/optrace/optrace/op"
)

// The spans of the engine come out as entries, with its own attributes
// understood.
func Example() {
	var out bytes.Buffer
	if err := run(context.Background(), &out); err != nil {
		fmt.Println(err)
		return
	}
	for rec, err := range op.NewReader(&out, "entries").Records() {
		switch {
		case err != nil:
			fmt.Println(err)
		case rec.Span != nil:
			fmt.Println("under", rec.Span.Name)
		case rec.Entry != nil:
			e := rec.Entry
			fmt.Println("step", e.Step, e.DeviceID, e.Operation, e.InputShapes, "->", e.OutputShape)
			for _, a := range e.Attrs {
				fmt.Println("  kept:", a.Key, "=", a.Value)
			}
			if e.Failed {
				fmt.Println("  failed:", e.Error)
			}
		}
	}
	// Output:
	// step 0 cpu:0 matmul [4x8 8x4] -> 4x4
	// step 0 cpu:0 softmax [4x4] -> 4x4
	// step 0 cpu:0 matmul [4x4 4x8] -> 4x8
	// step 0 cpu:0 attention [4x8 4x8 4x8] -> 4x8
	//   kept: engine.cache = miss
	// step 1 cpu:0 matmul [4x8 8x4] -> 4x4
	// step 1 cpu:0 softmax [4x4] -> 4x4
	// step 1 cpu:0 matmul [4x4 4x8] -> 4x8
	// step 1 cpu:0 attention [4x8 4x8 4x8] -> 4x8
	//   kept: engine.cache = miss
	// step 2 cpu:0 matmul [4x8 3x4] -> ?
	//   failed: shapes do not match: [4 8] and [3 4]
	// step 2 cpu:0 attention [4x8 4x3 4x8] -> ?
	//   kept: engine.cache = miss
	//   failed: attention: shapes do not match: [4 8] and [3 4]
	// under generate
}

func TestEntriesAreValid(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	spans := make(map[op.SpanID]string)
	parents := make(map[op.SpanID]string)
	for rec, err := range op.NewReader(&out, "entries").Records() {
		switch {
		case err != nil:
			t.Fatal(err)
		case rec.Span != nil:
			spans[rec.Span.SpanID] = rec.Span.Name
		case rec.Entry != nil:
			if err := rec.Entry.Validate(); err != nil || rec.Entry.Warn != 0 {
				t.Errorf("%s: %v, warnings %b", rec.Entry.Operation, err, rec.Entry.Warn)
			}
			spans[rec.Entry.SpanID] = rec.Entry.Operation
			parents[rec.Entry.ParentSpanID] = rec.Entry.Operation
		}
	}
	for id, child := range parents {
		if spans[id] == "" {
			t.Errorf("%s is an orphan", child)
		}
	}
}
