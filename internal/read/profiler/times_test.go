package profiler_test

import (
	"testing"

	"github.com/optrace/optrace/internal/read/profiler"
	"github.com/optrace/optrace/op"
)

func TestHasTime(t *testing.T) {
	const hour = 3600e9
	for _, test := range []struct {
		name            string
		start, duration int64
		launch          op.Int
		want            bool
	}{
		{"an event", 1000, 5, op.Int{}, true},
		{"not known to CUPTI", 0, 0, op.Int{}, false},
		{"not known to CUPTI, launched", 0, 0, op.Known(10), false},
		{"at the start of the recording", 0, 5, op.Known(0), true},
		{"of no duration", 7, 0, op.Int{}, true},
		{"before its launch, by clocks that differ", 1000, 5, op.Known(2000), true},
		{"in 1970, launched today", 100, 5, op.Known(1_750_000_000e9), false},
		{"an hour before its launch", 5, 5, op.Known(5 + hour), false},
	} {
		if got := profiler.HasTime(test.start, test.duration, test.launch); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}
