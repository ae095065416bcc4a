package kineto_test

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

// sums returns the count and the sum of the operations of each device and stream by kind.
func sums(records iter.Seq2[op.Record, error]) (lines []string) {
	type sum struct{ n, ns int64 }
	all := make(map[string]sum)
	for rec, err := range records {
		key := "error"
		var ns int64
		switch e := rec.Entry; {
		case err != nil:
		case e != nil:
			key = fmt.Sprint(e.DeviceID, " ", e.Stream, " ", e.Kind)
			if !e.Start.Known {
				key += " without time"
			}
			ns = e.Duration
		case rec.Skipped.Reason == op.SkipMetadata || rec.Skipped.N == 0:
			continue
		default:
			all["skipped "+string(rec.Skipped.Reason)] = sum{n: rec.Skipped.N}
			continue
		}
		all[key] = sum{all[key].n + 1, all[key].ns + ns}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		lines = append(lines, fmt.Sprint(key, " ", all[key].n, " ", all[key].ns))
	}
	return lines
}

// The operations of each accelerator belong to its devices and streams, those of the host to the host. The counts and
// sums of each trace are in testdata/reported.
func TestReportedTraces(t *testing.T) {
	for _, file := range []string{
		"reports/02-kineto-ts0", "reports/02b-kineto-ts0-abs", "reports/05b-kineto-xpu-sync", "reports/07-jax-gpu",
		"reports/08-rocprof-strings", "reports/28b-ascend-numeric-ts", "reports/48-sync-rows",
		"reports/48b-cuda-event", "reports/59-tf1-timeline", "reports/60b-unitrace-two-devices", "reports/61-hpu",
		"field/cuspy",
	} {
		t.Run(file, func(t *testing.T) {
			f, err := os.Open(filepath.Join("../../../shared/data", file+".json"))
			if err != nil {
				t.Skip(err)
			}
			defer func() { _ = f.Close() }()
			got := strings.Join(sums(kineto.Records(f, file, nil)), "\n") + "\n"
			golden.Check(t, "testdata/reported/"+filepath.Base(file)+".txt", got)
		})
	}
}

// Kernels of Cuspy's replays keep their modules, copies their kinds; a host's node is on the host's thread.
func TestReplaysOfCuspy(t *testing.T) {
	f, err := os.Open("../../../shared/data/field/cuspy.json")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = f.Close() }()
	entries, _ := recordtest.Split(t, kineto.Records(f, "cuspy", nil))
	var got []string
	for _, e := range entries {
		if e.Step == op.Known(2) {
			got = append(got, fmt.Sprint(e.Operation, ", ", e.Side, ", ", e.Path, ", ", e.Attrs))
		}
	}
	golden.Check(t, "testdata/reported/cuspy_step.txt", strings.Join(got, "\n")+"\n")
}

// forwardsOf returns the names of the forward operators of the host operators, "" for a missing one, in the order of
// the trace.
func forwardsOf(t *testing.T, trace io.Reader) []string {
	t.Helper()
	var names []string
	entries, _ := recordtest.Split(t, kineto.Records(trace, "trace", nil))
	for _, e := range entries {
		if e.DeviceID == "cpu" {
			name := ""
			if a := opmodel.FindAttr(e.Attrs, "tensor.autograd.forward.name"); a != nil {
				name = a.Value
			}
			names = append(names, name)
		}
	}
	return names
}

// operator is the text of a host operator with an autograd number.
func operator(name string, pid, tid, ts, number, forward int) string {
	return fmt.Sprintf(`{"ph":"X","cat":"cpu_op","name":%q,"pid":%d,"tid":%d,"ts":%d,"dur":1,`+
		`"args":{"Sequence number":%d,"Fwd thread id":%d}}`, name, pid, tid, ts, number, forward)
}

// Forward operators agree with a search of all operators for each backward operator.
func TestGradientsAgainstNaive(t *testing.T) {
	cases.Seeds(t, 100, func(seed uint64, r *rand.Rand) {
		type event struct {
			kind                         string
			pid, tid, ts, number, thread int
		}
		var events []event
		var texts []string
		for i := range r.IntN(60) {
			e := event{[]string{"Mul", "Addmm"}[r.IntN(2)], 1 + r.IntN(2), 1 + r.IntN(2)/(1+int(seed%2)), r.IntN(50),
				r.IntN(5), r.IntN(2)}
			name := map[bool]string{true: e.kind + "Backward0", false: "aten::" + strings.ToLower(e.kind)}[e.thread > 0]
			events = append(events, e)
			texts = append(texts, operator(name, e.pid, e.tid, e.ts*100+i, e.number, e.thread))
			events[i].ts = e.ts*100 + i
		}
		var want []string
		for _, b := range events {
			name := ""
			threads := map[int]bool{}
			for _, f := range events {
				if b.thread > 0 && f.thread == 0 && f.number == b.number && f.pid == b.pid && f.kind == b.kind &&
					f.ts < b.ts {
					name = "aten::" + strings.ToLower(f.kind)
					threads[f.tid] = true
				}
			}
			if len(threads) > 1 {
				name = ""
			}
			want = append(want, name)
		}
		check.Equal(t, fmt.Sprint("seed ", seed), want,
			forwardsOf(t, strings.NewReader("["+strings.Join(texts, ",")+"]")))
	})
}

// The forward operators of recorded backward operators are those of testdata/recorded. They agree with the arrows of the
// traces, if recorded.
func TestRecordedGradients(t *testing.T) {
	for _, name := range []string{"mi250_minitoy_train_ROCm6_2_kineto", "nccl_data", "sampled_rank-0"} {
		t.Run(name, func(t *testing.T) {
			counts := make(map[string]int)
			for _, forward := range forwardsOf(t, openRecorded(t, name+".json.gz")) {
				counts[forward]++
			}
			delete(counts, "")
			golden.JSON(t, "testdata/recorded/"+name+".gradients.golden", counts)
		})
	}
}

// The steps and phases of recorded kernels agree with the ranges in the JSON open at their launches. The nanoseconds by
// step and phase in testdata/recorded are from a search of all ranges and operators for each launch.
func TestRecordedSteps(t *testing.T) {
	cases.NotUnderRace(t, cases.OneGoroutine)
	for _, name := range []string{"nccl_data", "mi250_minitoy_train_ROCm6_2_kineto", "sampled_rank-1", "simple_add"} {
		t.Run(name, func(t *testing.T) {
			sums := make(map[string]map[string]int64)
			entries, _ := recordtest.Split(t, kineto.Records(openRecorded(t, name+".json.gz"), name, nil))
			for _, e := range entries {
				if e.Side != 0 {
					continue
				}
				if sums[e.StepName] == nil {
					sums[e.StepName] = make(map[string]int64)
				}
				sums[e.StepName][e.Phase] += e.Duration
			}
			golden.JSON(t, "testdata/recorded/"+name+".steps.golden", sums)
		})
	}
}

// rocprof names a process by a number that its events write as a text, and cuts microseconds from nanoseconds.
func TestTextsOfRocprof(t *testing.T) {
	trace := `{"traceEvents":[{},{"args":{"name":"COPY"},"ph":"M","pid":1,"name":"process_name"},
		{"args":{"name":"GPU2"},"ph":"M","pid":8,"name":"process_name"},
		{"args":{"name":"CPU HIP API"},"ph":"M","pid":2,"name":"process_name"},
		{"ph":"X","name":"hipLaunchKernel","pid":"2","tid":"7","ts":"100","dur":"3",
			"args":{"BeginNs":"100900","EndNs":"104100"}},
		{"ph":"X","name":"CopyHostToDevice","pid":"1","tid":"1","ts":"110","dur":"8",
			"args":{"BeginNs":"110126","EndNs":"118606","dev-id":"2","queue-id":"0"}},
		{"ph":"X","name":"k","pid":"8","tid":"1","ts":"120","dur":"5",
			"args":{"BeginNs":"120661","EndNs":"125941","dev-id":"2","queue-id":"1"}},
		{"ph":"X","name":"k","pid":"8","tid":"1","ts":"130","dur":"5",
			"args":{"BeginNs":"930661","EndNs":"935941","dev-id":"2","queue-id":"1"}}]}`
	got := sums(kineto.Records(strings.NewReader(trace), "trace", nil))
	want := []string{"gpu:2 0 memory 1 8480", "gpu:2 1 compute 2 10280", "skipped runtime_call 1 0"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// msprof writes the names of processes and streams behind their events.
func TestNamesOfAscendBehindEvents(t *testing.T) {
	task := func(kind, pid, stream, ts string) string {
		return `{"args":{"Task Type":"` + kind + `"},"dur":80.5,"name":"main","ph":"X","pid":` + pid + `,"tid":` + stream +
			`,"ts":"` + ts + `"},`
	}
	trace := `[` + task("PROFILING_ENABLE", "64", "4", "1.5") + task("TASK_TIMEOUT_SET", "64", "4", "2.5") +
		task("MIX_AIC", "64", "6", "90.5") + task("AI_CORE", "65", "6", "190.5") +
		`{"args":{"name":"Ascend Hardware"},"name":"process_name","ph":"M","pid":64,"tid":0},` +
		`{"args":{"name":"Stream 7"},"name":"thread_name","ph":"M","pid":64,"tid":6},` +
		strings.TrimSuffix(task("AI_CORE", "64", "6", "290.5"), ",") + `]`
	got := sums(kineto.Records(strings.NewReader(trace), "trace", nil))
	want := []string{
		"npu:0 6 compute 1 80500", "npu:0 7 compute 1 80500", "npu:1 6 compute 1 80500", "skipped runtime_call 2 0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
