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
		{Summarize(trace).OperationSummary()["send"], `{"count":1,"total_duration_us":100,"total_memory_bytes":16}`},
		{Summarize(trace).PerDeviceSummary()["gpu:1"], `{"op_count":1,"total_duration_us":100,"total_memory_bytes":16}`},
		{
			Summarize(trace).CommunicationBottlenecks(0),
			`[{"operation":"send","total_duration_us":100,"ratio_of_total":0.25,"call_count":1}]`,
		},
		{Summarize(trace).LoadBalance(), `{"device_count":2,"total_duration_us":400,"ideal_duration_us":200,` +
			`"max_duration_us":300,"imbalance_ratio":0.5,"per_device_duration_us":[["gpu:0",300],["gpu:1",100]]}`},
	} {
		got := check.Must(json.Marshal(tc.got))(t)
		check.Equal(t, "", tc.want, string(got))
	}
	want := Summarize(trace).LoadBalance()
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
