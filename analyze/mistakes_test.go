package analyze

import (
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Times in a wrong unit are recognised; times of another clock are not.
func TestTimeUnitOfStarts(t *testing.T) {
	const ms = 1_764_359_584_123
	for _, test := range []struct {
		name     string
		format   string
		starts   []int64
		duration int64 // of the first two; others take 5 µs
		want     string
	}{
		{"milliseconds", "entries-jsonl", []int64{ms, ms + 5}, 5, "milliseconds"},
		{"seconds", "otlp-json", []int64{ms / 1000, ms/1000 + 5}, 0, "seconds"},
		{"microseconds", "otlp-proto", []int64{ms * 1000, ms*1000 + 5000}, 500, "microseconds"},
		{"nanoseconds", "entries-jsonl", []int64{ms * 1_000_000}, 5, ""},
		{"one of them in nanoseconds", "entries-jsonl", []int64{ms, ms * 1_000_000}, 5, "milliseconds"},
		{"since the host started, and one in Unix time", "entries-jsonl", []int64{ms, ms * 1_000_000}, 20_000, ""},
		{"no start of one", "entries-jsonl", []int64{ms, 0}, 5, ""},
		{"since the host started", "entries-jsonl", []int64{ms, ms + 5_000_000}, 20_000, ""},
		{"since the host started, two of them short", "entries-jsonl", []int64{ms, ms + 5, ms + 9, ms + 11, ms + 12},
			999, ""},
		{"of a profiler", "chrome", []int64{ms, ms + 5}, 5, ""},
		{"of two units", "entries-jsonl", []int64{ms, ms / 1000}, 5, ""},
		{"from 0", "entries-jsonl", []int64{1000, 2000}, 5, ""},
	} {
		in := newCounter()
		for i, start := range test.starts {
			d := test.duration
			if i >= 2 {
				d = 5_000
			}
			in.add(op.Record{Entry: &op.Entry{Operation: "relu", Start: op.Int{V: start, Known: start != 0},
				Duration: d}}, nil)
		}
		in.endFile(test.format, 1)
		check.Equal(t, test.name, test.want, in.envelope().TimeUnit)
	}
}

// Parts of an input merge to the same mistakes as the whole, in any order.
func TestMistakesMerge(t *testing.T) {
	whole := new(mistakes)
	entries := []*op.Entry{
		{Operation: "mm", InputShapes: []op.Shape{{5, 7}, {11, 3}}, Start: op.Known(7), Duration: 3},
		{Operation: "mm", InputShapes: []op.Shape{{5, 7}, {11, 13}}, Start: op.Known(5), Duration: 1},
		{Operation: "mm", InputShapes: []op.Shape{{5, 7}, {7, 13}}},
		{Operation: "relu", Start: op.Known(9)},
	}
	for _, e := range entries {
		whole.add(e)
	}
	check.Equal(t, "whole", mistakes{Products: 2, Product: "mm [5 7] × [11 13]", Early: 3, First: 5, Last: 9,
		EarlyShort: 3}, *whole)
	merged := new(mistakes)
	for _, i := range rand.Perm(len(entries)) {
		part := new(mistakes)
		part.add(entries[i])
		merged.merge(part)
	}
	check.Equal(t, "merged", *whole, *merged)
}
