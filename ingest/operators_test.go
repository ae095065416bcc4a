package ingest_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
)

// h100 is the folder of traces of an H100, which record.py there recorded.
const h100 = "kineto/testdata/h100/"

// Times and FLOPs on an H100 are those that PyTorch's profiler states itself (key_averages), to the nanosecond: of each
// kernel, and of each operator that launched kernels other than by a CUDA graph.
func TestAgainstPyTorch(t *testing.T) {
	type row struct {
		Key          string
		Host         bool
		Count, FLOPs int64
		Self         float64 `json:"device_self_us"`
	}
	var truth map[string][]row
	check.OK(t, json.Unmarshal(check.Must(os.ReadFile(h100+"truth.json"))(t), &truth))
	for name, rows := range truth {
		r := check.Must(analyze.Run(t.Context(), ingest.Open(h100+name+".json.gz"), analyze.Options{}))(t)
		want := make(map[string]row)
		for _, row := range rows {
			want[fmt.Sprint(row.Host, row.Key)] = row
		}
		sum := int64(0)
		for i := range r.Operations {
			o := &r.Operations[i]
			if o.Side == "host" {
				continue
			}
			sum += o.SumNS
			if w := want["false"+o.Operation]; w.Count != o.Count || int64(math.Round(w.Self*1000)) != o.SumNS {
				t.Errorf("%s: %s ran %d times for %d ns, want %+v", name, o.Operation, o.Count, o.SumNS, w)
			}
		}
		for _, o := range r.Operators.Rows {
			if o.Kernels == 0 || o.Below != nil {
				continue
			}
			if w := want["true"+o.Operator]; int64(math.Round(w.Self*1000)) != o.DeviceSelfNS || w.FLOPs != 0 && w.FLOPs != o.FLOPs.V {
				t.Errorf("%s: %s launched %d ns of %d FLOPs, want %+v", name, o.Operator, o.DeviceSelfNS, o.FLOPs.V, w)
			}
		}
		if len(r.Operations) == 0 || sum != r.Total.SumNS {
			t.Errorf("%s: the operations took %d of %d ns", name, sum, r.Total.SumNS)
		}
	}
}

// PyTorch states no numbers of CUDA graphs: the ranges around their launches tell them apart.
func TestGraphsOfPyTorch(t *testing.T) {
	r := check.Must(analyze.Run(t.Context(), ingest.Open(h100+"graphs.json.gz"), analyze.Options{}))(t)
	launches := make(map[string]int64)
	for _, o := range r.Operators.Rows {
		launches[o.Operator] = o.Calls
	}
	check.Equal(t, "launches", map[string]int64{"CUDA graph (decode)": 3 * 8, "CUDA graph (prefill)": 3}, launches)
}

// Memory that was given back to the driver in each step is the reason that the device was idle.
func TestCallsOfPyTorch(t *testing.T) {
	r := check.Must(analyze.Run(t.Context(), ingest.Open(h100+"allocator.json.gz"), analyze.Options{}))(t)
	if !slices.ContainsFunc(r.Findings, func(f findings.Finding) bool { return strings.Contains(f.Text, "it was in cudaFree for") }) {
		t.Errorf("%+v", r.Findings)
	}
}
