package findings_test

import (
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/operators"
	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/timeline"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// The bound names at most three operators, each with a twentieth of the device work or more, and the share of the work
// without a known operator.
func TestBoundNamesLaunchingOperators(t *testing.T) {
	of := func(unattributed int64, rows ...operators.Row) *operators.Operators {
		return &operators.Operators{Rows: rows, Unattributed: operators.Unattributed{SumNS: unattributed}}
	}
	row := func(name string, ns int64) operators.Row { return operators.Row{Operator: name, DeviceSelfNS: ns} }
	for _, test := range []struct {
		name      string
		operators *operators.Operators
		want      string
	}{
		{"unknown", nil, "5 operations of 0 names ran."},
		{"none with a twentieth", of(96, row("a", 4)), "5 operations of 0 names ran."},
		{"one", of(4, row("a", 96)), "Device work was launched by a (96.0 %)."},
		{
			"some unknown", of(40, row("a", 55), row("b", 5)),
			"Device work was launched by a (55.0 %), b (5.0 %), no known operator (40.0 %).",
		},
		{"the others", of(0, row("a", 60), row(key.Other, 40)), "Device work was launched by a (60.0 %)."},
		{
			"more than three", of(0, row("a", 40), row("b", 30), row("c", 20), row("d", 10)),
			"Device work was launched by a (40.0 %), b (30.0 %), c (20.0 %).",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := findings.Of(&findings.Facts{
				Input:     findings.Input{Entries: 5},
				Total:     profile.Total{Count: 5, SumNS: 100},
				Operators: test.operators,
				Devices:   []profile.Device{{DeviceID: "cuda:0", ComputeNS: op.Known(100), BusyNS: op.Known(100)}},
				Extent:    &timeline.Extent{DurationNS: 100},
			})
			if !strings.HasSuffix(found[0].Text, test.want) {
				t.Errorf("%q, want %q", found[0].Text, test.want)
			}
		})
	}
}

// Time of a device with work from before the recording is no idle time, nor the host's.
func TestBoundOutsideTheRecording(t *testing.T) {
	const ms = 1_000_000
	r := run{free: 50 * ms}
	for range 20 {
		r.launch("aten::mm", "gemm", op.KindCompute, ms)
	}
	all := found(t, r.records...)
	const says = "The bound is work outside the recording: 7"
	if len(all) < 2 || all[0].Rule != "outside" || !strings.HasPrefix(all[1].Text, says) {
		t.Errorf("%+v", all)
	}
}

// Without a device, time without an operation is the program's own, and not idle.
func TestBoundOutsideOfOperations(t *testing.T) {
	const ms = 1_000_000
	var r run
	r.host("aten::mm", ms)
	r.at += 9 * ms
	r.host("aten::add", ms)
	const want = "The bound is code outside of operations: 81.8 % of 11.0 ms; no device operation was recorded; " +
		"the host 18.2 %. Its longest part is 9.00 ms, after aten::mm, until aten::add."
	check.Equal(t, "", want, found(t, r.records...)[0].Text)
}
