package findings_test

import (
	"testing"

	"github.com/optrace/optrace/analyze/clocks"
	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/launch"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// Where work is missing or clocks of ranks differ, that comes first, and neither bound nor idle times are claimed.
func TestMissingWorkComesFirst(t *testing.T) {
	for _, test := range []struct {
		name     string
		coverage launch.Coverage
		clocks   *clocks.Offset
		rule     string
		want     []string
	}{
		{"all recorded", launch.Coverage{Launches: 40}, nil, "bound", []string{
			"The bound is idle time: 90.0 % of 1.00 µs on cuda:0; compute 10.0 %.",
		}},
		{"a rank of two", launch.Coverage{Ranks: 1, WorldSize: op.Known(2)}, nil, "coverage", []string{
			"1 of 2 ranks is in the input.",
			"The bound is idle time: 90.0 % of 1.00 µs on cuda:0; compute 10.0 %.",
		}},
		{"lost launches", launch.Coverage{Launches: 40, LaunchesWithoutOperation: 24}, nil, "coverage", []string{
			"24 of 40 launches have no operation in the recording.",
			"The bound is not known, because work is missing: 5 operations took 100 ns in all.",
		}},
		{"a capture", launch.Coverage{Launches: 40, LaunchesCaptured: 12}, nil, "coverage", []string{
			"12 of 40 launches were captured into a graph and did not run.",
			"The bound is not known, because work is missing: 5 operations took 100 ns in all.",
		}},
		{"lost launches of a busy device", launch.Coverage{Launches: 40, LaunchesWithoutOperation: 4}, nil, "coverage",
			[]string{
				"4 of 40 launches have no operation in the recording.",
				"The bound is compute: at least 90.0 % of 1.00 µs on cuda:0; the rest is not known, because work is " +
					"missing.",
			}},
		{"clocks", launch.Coverage{}, &clocks.Offset{Rank: 1, OffsetNS: -5_000_000, Collectives: 9}, "clocks", []string{
			"Clocks of ranks differ: rank 1 is 5.00 ms behind the reference, by the ends of 9 collectives. " +
				"Try optrace report -align-clocks.",
			"The bound is not known, because clocks of ranks differ: 5 operations took 100 ns in all.",
		}},
	} {
		busy := int64(100)
		if test.coverage.LaunchesWithoutOperation == 4 {
			busy = 900
		}
		found := findings.Of(&findings.Facts{
			Input: findings.Input{Entries: 5}, Coverage: &test.coverage, Clocks: test.clocks,
			Total:   profile.Total{Count: 5, SumNS: 100},
			Devices: []profile.Device{{DeviceID: "cuda:0", ComputeNS: op.Known(busy), BusyNS: op.Known(busy)}},
			Extent: &timeline.Extent{DurationNS: 1000,
				Devices: []timeline.DeviceWork{{Key: device.Key{DeviceID: "cuda:0"}}}},
			Lateness: []collective.Lateness{{Name: "all_reduce", WaitNS: 50}},
		})
		var texts []string
		for _, f := range found {
			texts = append(texts, f.Text)
		}
		check.Equal(t, test.name, test.want, texts)
		check.Equal(t, test.name, test.rule, found[0].Rule)
	}
}
