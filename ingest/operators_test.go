package ingest_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/findings"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/check"
)

// rawEvent is an event of a trace as its JSON has it; times in nanoseconds.
type rawEvent struct {
	Ph, Cat, Name string
	Ts, Dur       json.Number
	Pid, Tid      any
	Args          map[string]any

	start, end int64
	thread     string
}

// nanoseconds returns a decimal number of microseconds in nanoseconds.
func nanoseconds(t *testing.T, micros json.Number) int64 {
	whole, part, _ := strings.Cut(micros.String(), ".")
	return check.Must(json.Number(whole + (part + "000")[:3]).Int64())(t)
}

// rawOperator is what a naive program finds of the operators of a name.
type rawOperator struct{ Calls, Kernels, Self, Total, HostTotal int64 }

// rawOperators finds the operators of a trace by looking at every pair of events.
func rawOperators(t *testing.T, text io.Reader) (rows map[string]rawOperator, bare, all int64) {
	t.Helper()
	var doc struct{ TraceEvents []rawEvent }
	d := json.NewDecoder(text)
	d.UseNumber()
	check.OK(t, d.Decode(&doc))
	var ops, kernels []*rawEvent
	threads := make(map[string][]*rawEvent) // the operators of each
	calls := make(map[any]*rawEvent)        // the first of each correlation id
	for i := range doc.TraceEvents {
		e := &doc.TraceEvents[i]
		if e.Ph != "X" {
			continue
		}
		e.start = nanoseconds(t, e.Ts)
		e.end = e.start + nanoseconds(t, e.Dur)
		e.thread = fmt.Sprint(e.Pid, "/", e.Tid)
		switch e.Cat {
		case "cpu_op":
			ops = append(ops, e)
			threads[e.thread] = append(threads[e.thread], e)
		case "cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver":
			id := e.Args["correlation"]
			if before := calls[id]; before == nil || e.start < before.start {
				calls[id] = e
			}
		case "kernel", "gpu_memcpy", "gpu_memset":
			kernels = append(kernels, e)
		}
	}
	// chain returns the operators around a time on a thread, the innermost first; of two that cover the same time
	// the one behind in the file is the inner one.
	chain := func(at *rawEvent, from, to int64) []*rawEvent {
		var around []*rawEvent
		for _, o := range slices.Backward(threads[at.thread]) {
			if o.start <= from && to <= o.end && (from < o.end || from == o.start) {
				around = append(around, o)
			}
		}
		slices.SortStableFunc(around, func(a, b *rawEvent) int { return int(a.end - a.start - (b.end - b.start)) })
		return around
	}
	rows = make(map[string]rawOperator)
	for i, o := range ops {
		row := rows[o.Name]
		row.Calls++
		inner := chain(o, o.start, o.end)
		if own := slices.Index(inner, ops[i]); !slices.ContainsFunc(inner[own+1:], func(a *rawEvent) bool { return a.Name == o.Name }) {
			row.HostTotal += o.end - o.start
		}
		rows[o.Name] = row
	}
	for _, k := range kernels {
		all += k.end - k.start
		var around []*rawEvent
		if call := calls[k.Args["correlation"]]; call != nil && k.Args["correlation"] != nil {
			around = chain(call, call.start, call.start)
		}
		if len(around) == 0 {
			at := slices.IndexFunc(ops, func(o *rawEvent) bool {
				return o.Args["External id"] == k.Args["External id"] && k.Args["External id"] != nil && k.Args["External id"] != k.Args["correlation"]
			})
			if at < 0 {
				bare += k.end - k.start
				continue
			}
			around = chain(ops[at], ops[at].start, ops[at].end)
			around = around[slices.Index(around, ops[at]):]
		}
		var seen []string
		for depth, o := range around {
			row := rows[o.Name]
			if depth == 0 {
				row.Kernels++
				row.Self += k.end - k.start
			}
			if !slices.Contains(seen, o.Name) {
				row.Total += k.end - k.start
				seen = append(seen, o.Name)
			}
			rows[o.Name] = row
		}
	}
	return rows, bare, all
}

// TestOperatorsAgainstRawEvents holds the operators of traces against a program that knows their JSON and nothing of
// the packages.
func TestOperatorsAgainstRawEvents(t *testing.T) {
	files, _ := filepath.Glob(recorded + "/*.json.gz")
	files = append(files, "kineto/testdata/train.json", "kineto/testdata/rocm.json")
	for _, name := range []string{"gemm", "sync", "pageable", "allocator"} { // CUDA graphs are none of the events
		files = append(files, h100+name+".json.gz")
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			f, err := os.Open(name)
			check.OK(t, err)
			defer f.Close()
			var text io.Reader = f
			if strings.HasSuffix(name, ".gz") {
				if text, err = gzip.NewReader(f); err != nil {
					t.Fatal(err)
				}
			}
			want, bare, all := rawOperators(t, text)
			r := check.Must(analyze.Run(t.Context(), ingest.Open(name), analyze.Options{}))(t)
			got := make(map[string]rawOperator)
			sum := r.Operators.Unattributed.SumNS
			for _, o := range r.Operators.Rows {
				got[o.Operator] = rawOperator{o.Calls, o.Kernels, o.DeviceSelfNS, o.DeviceTotalNS, o.HostTotalNS.V}
				sum += o.DeviceSelfNS
			}
			check.Equal(t, "operators: report against raw", want, got)
			if r.Operators.Unattributed.SumNS != bare || sum != all || sum != r.Total.SumNS {
				t.Errorf("%d ns unattributed of %d, want %d of %d; the total is %d", r.Operators.Unattributed.SumNS, sum, bare, all, r.Total.SumNS)
			}
		})
	}
}

// h100 is the folder of traces of an H100, which record.py there recorded.
const h100 = "kineto/testdata/h100/"

// Times and FLOPs on an H100 are those that PyTorch's profiler states itself (key_averages), to the nanosecond: of each kernel,
// and of each operator that launched kernels other than by a CUDA graph.
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
