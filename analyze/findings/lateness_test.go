package findings

import (
	"testing"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/steps"
	"github.com/optrace/optrace/internal/testing/check"
)

// The first gather of each pass and the last reduction of a step have no computation beside them.
func TestCollectivesThatNothingHides(t *testing.T) {
	for _, test := range []struct {
		name                       string
		gathers, scatters, reduces int64
		want                       int64
	}{
		{"gradients", 0, 0, 12, 1},
		{"weights for both passes", 20, 10, 0, 3},
		{"weights for one pass", 10, 10, 1, 2},
		{"values of ranks", 3, 0, 12, 1},
	} {
		var c communications
		for name, n := range map[string]int64{
			"ncclDevKernel_AllGather_RING_LL": test.gathers,
			"reduce_scatter":                  test.scatters,
			"all_reduce":                      test.reduces,
		} {
			o := &profile.Operation{Operation: name}
			o.Count = n
			c.add(o)
		}
		check.Equal(t, test.name, test.want, new(list).exposedAnyway(&c))
	}
}

// A device is late in most steps, or now and then, as with pauses of its host.
func TestLatenessInMostSteps(t *testing.T) {
	for _, test := range []struct {
		name   string
		steps  int
		blocks []int64
		want   bool
	}{
		{"always", 8, []int64{5, 7, 3, 9, 4, 6, 2, 8}, true},
		{"three times", 8, []int64{0, 0, 9, 1, 0, 8, 9, 0}, false},
		{"at the start of each step", 4, []int64{9, 0, 8, 0, 9, 0, 7, 0}, true},
		{"at the start of two steps", 4, []int64{9, 0, 0, 0, 0, 0, 7, 0}, false},
		{"without steps", 0, []int64{9, 8, 7, 8}, true},
	} {
		late := &blamed{Lateness: &collective.Lateness{}, device: 1}
		for _, ns := range test.blocks {
			late.BlockNS = append(late.BlockNS, []int64{0, ns})
		}
		l := new(list)
		l.Steps = make([]steps.Row, test.steps)
		check.Equal(t, test.name, test.want, l.isLateInMostSteps(late))
	}
}
