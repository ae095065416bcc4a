package main

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
)

// Reports on recorded samples have operations with durations, and findings: 73 of 137 files on 27 November 2026.
func TestSamplesHaveFigures(t *testing.T) {
	const least = 73
	files := filesBelow(t, recorded, "")
	if len(files) == 0 {
		t.Skip("needs the recorded samples")
	}
	var held atomic.Int64
	t.Cleanup(func() {
		if n := held.Load(); n < least {
			t.Errorf("%d samples have figures, at least %d had", n, least)
		}
	})
	for _, path := range files {
		t.Run(strings.TrimPrefix(path, recorded), func(t *testing.T) {
			t.Parallel()
			var r struct {
				Operations []struct {
					SumNS int64 `json:"sum_ns"`
				}
				Findings []any
			}
			code, out, _ := ran(t, "report", "-json", path)
			if code != exit.OK || json.Unmarshal([]byte(out), &r) != nil {
				return // no input
			}
			sum := int64(0)
			for _, o := range r.Operations {
				sum += o.SumNS
			}
			if sum > 0 {
				held.Add(1)
			}
			if sum > 0 && len(r.Findings) == 0 {
				t.Error("no findings")
			}
		})
	}
}
