package html

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/launch"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
)

func TestSelectionOf(t *testing.T) {
	r := &analyze.Report{Devices: []profile.Device{{DeviceID: "cuda:0"}, {DeviceID: "cuda:1", Rank: op.Known(1)}}}
	v := &view{
		Origin: "1000", SpanNS: 100, Devices: []shownDevice{{Row: -1}, {Row: 1}, {Row: 0}},
		Requests: []request{{Index: 0}, {Index: 1, Trace: op.TraceID{1}, Span: op.SpanID{2}, Start: 5, Duration: 20}},
	}
	golden.Lines(t, "testdata/selections.txt", func(where string) string {
		var f findings.Finding
		check.OK(t, json.Unmarshal([]byte(where), &f.Where))
		return string(check.Must(json.Marshal(selectionOf(&f, r, v)))(t))
	})
}

func TestSentence(t *testing.T) {
	r := &analyze.Report{
		Input: analyze.Envelope{
			Spans: 12, Entries: 10, Dropped: 1, DroppedBy: map[string]int64{"queue_full": 1}, Malformed: 3,
			MalformedBy: map[string]int64{"limit_exceeded": 1, "syntax": 2}, Orphans: op.Known(0), Truncated: 2,
			MissingBatches: 2,
			MissingEntries: 9, SuspectDurations: op.Known(1), Clock: op.Known(2), Cycles: op.Known(3),
		},
		Coverage: &launch.Coverage{Launches: 2, LaunchesWithoutOperation: 1},
		Total:    profile.Total{Count: 10, WallNS: op.Known(3_510_000_000)},
	}
	text, chips := sentence(r, 1)
	if want := "10 operations in 12 spans on 1 device within 3.51 s."; strings.ReplaceAll(text, "\u00a0", " ") != want {
		t.Errorf("sentence %q, want %q", text, want)
	}
	var labels []string
	for _, c := range chips {
		labels = append(labels, c.Label)
	}
	want := "work missing|1 lost operation|9 missing operations|3 malformed records|2 cut-off files|1 suspect duration|2 clock " +
		"problems|3 cycles"
	check.Equal(t, "chips", want, strings.Join(labels, "|"))
	if !strings.Contains(chips[3].Detail, "syntax 2, limit_exceeded 1") {
		t.Errorf("detail %q", chips[3].Detail)
	}
	r.Input.Entries = 1_210
	text, _ = sentence(r, 1)
	check.Equal(t, "both", "10 operations and 1,200 of the host in 12 spans on 1 device within 3.51 s.", text)
	host := &analyze.Report{Input: analyze.Envelope{Spans: 4, Entries: 2}, ExtentNS: op.Known(75_500_000)}
	text, _ = sentence(host, 0)
	check.Equal(t, "sentence",
		"2 operations in 4 spans within 75.5 ms, all the host's view: none of a device was recorded; nothing lost.", text)
}
