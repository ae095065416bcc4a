package lateness_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/findings/internal/lateness"
	"github.com/optrace/optrace/internal/testing/check"
)

// A device is late in most steps, or now and then, as with pauses of its host.
func TestLatenessInMostSteps(t *testing.T) {
	for _, test := range []struct {
		name   string
		steps  int64
		blocks []int64
		want   bool
	}{
		{"always", 8, []int64{5, 7, 3, 9, 4, 6, 2, 8}, true},
		{"three times", 8, []int64{0, 0, 9, 1, 0, 8, 9, 0}, false},
		{"at the start of each step", 4, []int64{9, 0, 8, 0, 9, 0, 7, 0}, true},
		{"at the start of two steps", 4, []int64{9, 0, 0, 0, 0, 0, 7, 0}, false},
		{"without steps", 0, []int64{9, 8, 7, 8}, true},
	} {
		var blocks [][]int64
		for _, ns := range test.blocks {
			blocks = append(blocks, []int64{0, ns})
		}
		check.Equal(t, test.name, test.want, lateness.InMostSteps(blocks, 1, test.steps))
	}
}
