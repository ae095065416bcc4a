package seed

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

func TestFiguresHaveTheReferenceJSON(t *testing.T) {
	trace := &Trace{}
	trace.AddEntry(&op.Entry{Operation: "matmul", DeviceID: "gpu:0", Duration: 300_000, MemoryBytes: op.Known(16)})
	trace.AddEntry(&op.Entry{Operation: "send", DeviceID: "gpu:1", Duration: 100_000, MemoryBytes: op.Known(16)})
	for _, tc := range []struct {
		got  any
		want string
	}{
		{trace.OperationSummary()["send"], `{"count":1,"total_duration_us":100,"total_memory_bytes":16}`},
		{trace.PerDeviceSummary()["gpu:1"], `{"op_count":1,"total_duration_us":100,"total_memory_bytes":16}`},
		{
			trace.CommunicationBottlenecks(0),
			`[{"operation":"send","total_duration_us":100,"ratio_of_total":0.25,"call_count":1}]`,
		},
		{trace.LoadBalance(), `{"device_count":2,"total_duration_us":400,"ideal_duration_us":200,` +
			`"max_duration_us":300,"imbalance_ratio":0.5,"per_device_duration_us":[["gpu:0",300],["gpu:1",100]]}`},
	} {
		got := check.Must(json.Marshal(tc.got))(t)
		check.Equal(t, "", tc.want, string(got))
	}
	want := trace.LoadBalance()
	text := check.Must(json.Marshal(want))(t)
	var got *Balance
	check.OK(t, json.Unmarshal(text, &got))
	check.Equal(t, "", want, got)
	for _, bad := range []string{`"gpu:0"`, `[1,2]`, `["gpu:0"]`, `["a",1,2]`} {
		check.Says(t, fmt.Sprintf("%s reads without an error", bad), "",
			json.Unmarshal([]byte(bad), new(DeviceDuration)))
	}
}
