package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/optrace/optrace/op/entries"
)

// The engine's spans become entries with its own attributes. The order in a file is not the order of time; entries have
// their start.
func Example() {
	var out bytes.Buffer
	if err := run(context.Background(), &out); err != nil {
		fmt.Println(err)
		return
	}
	for rec, err := range entries.NewReader(&out, "entries").Records() {
		switch {
		case err != nil:
			fmt.Println(err)
		case rec.Span != nil:
			fmt.Println("span", rec.Span.Name)
		case rec.Entry != nil:
			e := rec.Entry
			if err := e.Validate(); err != nil || e.Warn != 0 {
				fmt.Println(err, e.Warn)
			}
			var attrs []string
			for _, a := range e.Attrs {
				attrs = append(attrs, a.Key+"="+a.Value)
			}
			line := fmt.Sprintln(e.Operation, e.Step, e.DeviceID, e.InputShapes, "->", e.OutputShape, attrs, e.Error)
			fmt.Println(strings.TrimSpace(line))
		}
	}
	// Unordered output:
	// span generate
	// matmul 0 cpu:0 [4x8 8x4] -> 4x4 [engine.cache=miss]
	// matmul 1 cpu:0 [4x8 8x4] -> 4x4 [engine.cache=miss]
	// matmul 2 cpu:0 [4x8 4x8] -> ? [engine.cache=miss] shapes do not match: [4 8] and [4 8]
}
