package findings_test

import (
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/key"
)

// The parts of requests to an engine add up to the time of the requests that state parts.
func TestSharesOfEngineAddUp(t *testing.T) {
	times := func(count int64, mean float64) *engines.Times { return &engines.Times{Count: count, Mean: mean} }
	for name, test := range map[string]struct {
		engine engines.Engine
		want   string
	}{
		"one of three states nothing": {
			engines.Engine{Requests: 3, E2E: times(3, 1.1e9), Queue: times(2, 0.1e9), Prefill: times(2, 0.2e9),
				Decode: times(2, 0.75e9), Other: times(2, 0)},
			"queue 9.5 %, prefill 19.0 %, decode 71.4 %, other 0.0 % of 2.10 s in all. " +
				"One takes 0 ns at the median, 0 ns at the 99th percentile. Only 2 of them stated parts.",
		},
		"parts longer than the whole": {
			engines.Engine{Requests: 1, E2E: times(1, 1e9), Queue: times(1, 2e9), Other: times(1, 0)},
			"queue 100.0 %, other 0.0 % of 2.00 s. The engine states parts longer than a request.",
		},
		"no parts": {
			engines.Engine{Requests: 1, E2E: times(1, 1e9)}, "; the engine does not say what for.",
		},
	} {
		test.engine.Model = key.Value{Text: "m", Known: true}
		f := findings.Of(&findings.Facts{Engines: []engines.Engine{test.engine}})
		if len(f) != 1 || !strings.HasSuffix(f[0].Text, test.want) {
			t.Errorf("%s: %+v, want %q", name, f, test.want)
		}
	}
}
