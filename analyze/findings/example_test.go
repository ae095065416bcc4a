package findings_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/timeline"
)

// Findings of a report with a host that runs 60 % of the time.
func Example() {
	facts := &findings.Facts{
		Input: findings.Input{Spans: 10, Entries: 10},
		Extent: &timeline.Extent{
			DurationNS: 100, HostNS: 60,
			Devices: []timeline.DeviceWork{{}},
		},
		Operations: []profile.Operation{{Operation: "matmul", Stats: profile.Stats{Kind: "compute", SumNS: 30}}},
	}
	for _, f := range findings.Of(facts) {
		fmt.Println(f.Kind, f.SavedNS, f.OfNS)
	}
	// Output:
	// bound unknown 100
}
