package seed

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/seed"
)

// seedTrace makes a trace with the rules of the seed's recorder: elements and
// bytes follow from the output shape, at 8 bytes each.
func seedTrace(entries ...seedEntry) *seed.Trace {
	t := &seed.Trace{}
	for i, s := range entries {
		e := op.Entry{
			Step: op.Known(int64(i)), Operation: s.operation, DeviceID: s.device, OutputShape: s.shape,
			Duration: s.duration.Nanoseconds(),
		}
		if s.shape != nil {
			e.OutputElements, _ = s.shape.Elements()
			e.MemoryBytes = op.Known(e.OutputElements.V * op.DefaultElementSize)
		}
		t.AddEntry(&e)
	}
	return t
}

type seedEntry struct {
	operation, device string
	duration          time.Duration
	shape             op.Shape
}

const us = time.Microsecond

func TestLoadBalance(t *testing.T) {
	gpu := func(device string, d time.Duration) seedEntry {
		return seedEntry{operation: "matmul", device: device, duration: d}
	}
	for _, tc := range []struct {
		name  string
		trace *seed.Trace
		want  *Balance
	}{
		{"empty", seedTrace(), nil},
		{"one device", seedTrace(gpu("gpu:0", us), gpu("", us)), nil},
		{"two devices", seedTrace(gpu("gpu:1", 100*us), gpu("gpu:0", 300*us)), &Balance{
			DeviceCount: 2, TotalDurationUS: 400, IdealDurationUS: 200, MaxDurationUS: 300, ImbalanceRatio: 0.5,
			PerDeviceDurationUS: []DeviceDuration{{"gpu:0", 300}, {"gpu:1", 100}},
		}},
		{"no time at all", seedTrace(gpu("a", 0), gpu("b", 0)), &Balance{
			DeviceCount: 2, PerDeviceDurationUS: []DeviceDuration{{"a", 0}, {"b", 0}},
		}},
	} {
		check.Equal(t, tc.name, tc.want, LoadBalance(tc.trace))
	}
}

func TestCommunicationBottlenecks(t *testing.T) {
	trace := seedTrace(
		seedEntry{operation: "allreduce", device: "gpu:0", duration: 600 * us},
		seedEntry{operation: "matmul", device: "gpu:0", duration: 200 * us},
		seedEntry{operation: "broadcast", device: "gpu:1", duration: 300 * us},
	)
	got := CommunicationBottlenecks(trace, 0.2)
	if len(got) != 2 || got[0].Operation != "allreduce" || got[0].RatioOfTotal <= 0.5 {
		t.Errorf("got %+v", got)
	}
	want := []Bottleneck{{"allreduce", 600, 600.0 / 1100, 1}}
	check.Equal(t, "", want, CommunicationBottlenecks(trace, 0.5))

	t.Run("no time at all", func(t *testing.T) {
		got := CommunicationBottlenecks(seedTrace(seedEntry{operation: "send"}, seedEntry{operation: "recv"}), 0)
		want := []Bottleneck{{"recv", 0, 0, 1}, {"send", 0, 0, 1}}
		check.Equal(t, "", want, got)
	})
}

func TestFlamegraphCollapsed(t *testing.T) {
	trace := seedTrace(
		seedEntry{operation: "relu", device: "gpu:1", duration: 50 * us},
		seedEntry{operation: "matmul", device: "gpu:0", duration: 123 * us},
		seedEntry{operation: "matmul", device: "gpu:0", duration: 77 * us},
		seedEntry{operation: "reshape", duration: 1},
		seedEntry{operation: "reshape"},
		seedEntry{operation: "half", duration: 2500},
		seedEntry{operation: "below half", duration: 2499},
	)
	const want = `trace;gpu:0;matmul 200
trace;gpu:1;relu 50
trace;unknown;below half 2
trace;unknown;half 3
trace;unknown;reshape 2`
	check.Equal(t, "", want, FlamegraphCollapsed(trace))
	check.Equal(t, "empty trace", "", FlamegraphCollapsed(seedTrace()))
}

// The results have the seed's JSON form, and read back.
func TestSeedResultsJSON(t *testing.T) {
	trace := seedTrace(
		seedEntry{"matmul", "gpu:0", 300 * us, op.Shape{2}},
		seedEntry{"send", "gpu:1", 100 * us, op.Shape{2}},
	)
	for _, tc := range []struct {
		got  any
		want string
	}{
		{OperationSummary(trace)["send"], `{"count":1,"total_duration_us":100,"total_memory_bytes":16}`},
		{PerDeviceSummary(trace)["gpu:1"], `{"op_count":1,"total_duration_us":100,"total_memory_bytes":16}`},
		{
			CommunicationBottlenecks(trace, 0),
			`[{"operation":"send","total_duration_us":100,"ratio_of_total":0.25,"call_count":1}]`,
		},
		{LoadBalance(trace), `{"device_count":2,"total_duration_us":400,"ideal_duration_us":200,` +
			`"max_duration_us":300,"imbalance_ratio":0.5,"per_device_duration_us":[["gpu:0",300],["gpu:1",100]]}`},
	} {
		got := check.Must(json.Marshal(tc.got))(t)
		check.Equal(t, "", tc.want, string(got))
	}
	want := LoadBalance(trace)
	text := check.Must(json.Marshal(want))(t)
	var got *Balance
	check.OK(t, json.Unmarshal(text, &got))
	check.Equal(t, "", want, got)
	for _, bad := range []string{`"gpu:0"`, `[1,2]`, `["gpu:0"]`, `["a",1,2]`} {
		check.Says(t, fmt.Sprintf("%s reads without an error", bad), "", json.Unmarshal([]byte(bad), new(DeviceDuration)))
	}
}

func TestColumnsConcurrentSafe(t *testing.T) {
	columns := NewColumns(wildTrace(rand.New(rand.NewPCG(5, 6)), 3000, false))
	s := columns.Summary()
	want := s.FlamegraphCollapsed()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if s.FlamegraphCollapsed() != want || columns.Summary().FlamegraphCollapsed() != want || len(columns.SlowestOps(3)) != 3 {
				t.Error("another result")
			}
		})
	}
	group.Wait()
}
