package html

import (
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/suspects"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/op"
)

func TestFindings(t *testing.T) {
	slow := func(durations ...int64) *view {
		v := &view{}
		for i, d := range durations {
			v.Requests = append(v.Requests, request{
				Index: i, Name: "GET /", Duration: d, Path: []part{{Operation: "matmul", NS: d / 2}},
				Causes: []string{"It computed for 450 ns (50.0 %): matmul 450 ns."},
			})
		}
		return v
	}
	device := device.Key{DeviceID: "cuda:1"}
	tests := []struct {
		name   string
		report analyze.Report
		view   *view
		want   string // "" for nothing
	}{
		{"nothing", analyze.Report{}, &view{}, ""},
		{
			"suspect durations",
			analyze.Report{Input: analyze.Envelope{SuspectDurations: op.Known(2), Suspects: []suspects.Suspect{
				{What: suspects.Duration, Operation: "gemm", DurationNS: 3_400_000_000}, {What: suspects.Clock, Operation: "a"},
			}}, Total: profile.Total{SumNS: 3_400_300_000}, WithoutSuspects: &analyze.WithoutSuspects{Total: profile.Total{SumNS: 300_000}}},
			&view{},
			"2 suspect durations, still running when a later operation of the stream had ended; the longest is gemm with 3.40 s. " +
				"Without suspect times all operations take 300 µs instead of 3.40 s.",
		},
		{
			"an operation on the critical paths",
			analyze.Report{
				CriticalPath: []path.Share{
					{Operation: "request", Kind: path.KindHost, TimeNS: 500}, {Operation: "a", Kind: "compute", TimeNS: 200},
					{Operation: "b", Kind: "compute", TimeNS: 150}, {Operation: "b", Kind: "compute", TimeNS: 150},
				},
				PathTotals: &path.Totals{Paths: 1, DurationNS: 1000},
			}, &view{}, "b is 30.0 % of the critical paths",
		},
		{
			"an operation that takes most of the time",
			analyze.Report{Operations: []profile.Operation{{Operation: "matmul", Stats: profile.Stats{Count: 3, SumNS: 1500,
				Share: op.KnownFloat(0.6)}}}},
			&view{}, "matmul takes 60.0 % of the time of all operations: 1.50 µs in 3 calls.",
		},
		{
			"a device that comes last",
			analyze.Report{Communication: analyze.Communication{Collectives: []collective.Row{{
				Name: "all_reduce", Count: 10, TransferNS: op.Known(500), WaitNS: op.Known(700),
				Stragglers: []collective.Straggler{{Key: device, Count: 9}},
			}}}}, &view{}, "cuda:1 came last in 9 of 10",
		},
		{
			"little waiting",
			analyze.Report{Communication: analyze.Communication{Collectives: []collective.Row{{
				Name: "all_reduce", Count: 10, TransferNS: op.Known(5000), WaitNS: op.Known(7),
				Stragglers: []collective.Straggler{{Key: device, Count: 9}},
			}}}}, &view{}, "",
		},
		{"a slow request", analyze.Report{}, slow(900, 300, 300, 200),
			"The slowest GET / took 900 ns, the median 300 ns. It computed for 450 ns (50.0 %): matmul 450 ns."},
		{"even requests", analyze.Report{}, slow(400, 300, 300, 200), ""},
		{"few requests", analyze.Report{}, slow(900, 300), ""},
		{
			"an idle device",
			analyze.Report{
				Devices:    []profile.Device{{DeviceID: "cuda:1", SpanNS: op.Known(100), IdleNS: op.Known(40)}},
				IdleCauses: &timeline.IdleCauses{Devices: []timeline.IdleDevice{{Key: device, Host: timeline.IdleSum{Count: 1, SumNS: 30}}}},
			}, &view{}, "cuda:1 was idle for 40.0 % of its span: 40 ns, mostly because the host launched too late.",
		},
		{"a busy device", analyze.Report{Devices: []profile.Device{{DeviceID: "cuda:1", SpanNS: op.Known(100), IdleNS: op.Known(4)}}},
			&view{}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := findings(&test.report, test.view)
			if test.want == "" {
				if len(got) != 0 {
					t.Errorf("found %+v", got)
				}
				return
			}
			if len(got) != 1 || !strings.Contains(strings.ReplaceAll(got[0].Text, "\u00a0", " "), test.want) {
				t.Errorf("found %+v, want %q", got, test.want)
			}
		})
	}
}

func TestSentence(t *testing.T) {
	r := &analyze.Report{
		Input: analyze.Envelope{
			Spans: 12, Entries: 10, Dropped: 1, DroppedBy: map[string]int64{"queue_full": 1}, Malformed: 3,
			MalformedBy: map[string]int64{"limit_exceeded": 1, "syntax": 2}, Orphans: op.Known(0), Truncated: 2, MissingBatches: 2,
			MissingEntries: 9, SuspectDurations: op.Known(1), Clock: op.Known(2), Cycles: op.Known(3),
		},
		Total: profile.Total{Count: 10, WallNS: op.Known(3_510_000_000)},
	}
	text, chips := sentence(r, 1)
	if want := "10 operations in 12 spans on 1 device within 3.51 s."; strings.ReplaceAll(text, "\u00a0", " ") != want {
		t.Errorf("sentence %q, want %q", text, want)
	}
	var labels []string
	for _, c := range chips {
		labels = append(labels, c.Label)
	}
	want := "1 lost operation|9 missing operations|3 malformed records|2 cut-off files|1 suspect duration|2 clock problems|3 cycles"
	if got := strings.Join(labels, "|"); got != want {
		t.Errorf("chips %q, want %q", got, want)
	}
	if !strings.Contains(chips[2].Detail, "syntax 2, limit_exceeded 1") {
		t.Errorf("detail %q", chips[2].Detail)
	}
	host := &analyze.Report{Input: analyze.Envelope{Spans: 4, Entries: 2}}
	text, _ = sentence(host, 0)
	if want := "2 operations in 4 spans, all the host's view: none of a device was recorded; nothing lost."; text != want {
		t.Errorf("sentence %q, want %q", text, want)
	}
}
