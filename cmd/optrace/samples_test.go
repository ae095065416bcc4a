package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
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

// A section that is asked for alone has the figures of the whole report, as far as it has them.
func TestSectionsEqualThoseOfTheWhole(t *testing.T) {
	files := filesBelow(t, recorded, "")
	if len(files) == 0 {
		t.Skip("needs the recorded samples")
	}
	for path := range cases.Of(t, 5, files) {
		t.Run(strings.TrimPrefix(path, recorded), func(t *testing.T) {
			t.Parallel()
			report := func(args ...string) (figures map[string]any) {
				code, out, _ := ran(t, append(args, path)...)
				if code != exit.OK || json.Unmarshal([]byte(out), &figures) != nil {
					return nil // no input
				}
				return figures
			}
			whole := report("report", "-json")
			if whole == nil {
				return
			}
			for _, section := range sections {
				part := report("report", "-json", "-section", section)
				if at := differs(part, whole); at != "" {
					t.Errorf("-section %s: %s", section, at)
				}
				check.Equal(t, "-section "+section+" is complete", whole[section], part[section])
			}
		})
	}
}

// differs returns the place of a figure that is another one than in the whole, "" for none. What is null, empty or not
// there was not asked for.
func differs(part, whole any) string {
	switch part := part.(type) {
	case nil:
		return ""
	case map[string]any:
		whole, _ := whole.(map[string]any)
		for key, value := range part {
			if at := differs(value, whole[key]); at != "" {
				return key + "." + at
			}
		}
		return ""
	case []any:
		whole, _ := whole.([]any)
		if len(part) > 0 && len(part) != len(whole) {
			return fmt.Sprintf("%d rows of %d", len(part), len(whole))
		}
		for i := range part {
			if at := differs(part[i], whole[i]); at != "" {
				return fmt.Sprintf("%d.%s", i, at)
			}
		}
		return ""
	}
	if part != whole {
		return fmt.Sprintf("%v, %v in the whole", part, whole)
	}
	return ""
}
