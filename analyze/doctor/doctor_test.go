package doctor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// randomRecords returns operations and spans, many of them without some property.
func randomRecords(r *rand.Rand, n int) []op.Record {
	specs := tracetest.RandomSpecs(r, n)
	for i := range specs {
		specs[i].Device = tracetest.Pick(r, "", "cuda:0", "CPU:1", "host")
		specs[i].Stream = tracetest.Pick(r, op.Int{}, op.Known(1))
	}
	return tracetest.RecordsOf(r, specs)
}

func examine(records []op.Record, room int) *Report {
	d := New()
	d.ids = table.New(room, (*references).fold)
	for _, rec := range records {
		d.Add(rec)
	}
	return d.Report(analyze.Envelope{})
}

func find(r *Report, name string) Finding {
	return r.Findings[slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Name == name })]
}

// The counts agree with a naive count.
func TestCountsAgainstNaive(t *testing.T) {
	for seed := range cases.Numbers(t, 50) {
		records := randomRecords(rand.New(rand.NewPCG(seed, 1)), 200)
		r := examine(records, maxIDs)
		type id struct {
			trace op.TraceID
			span  op.SpanID
		}
		there := make(map[id]bool)
		for _, rec := range records {
			if rec.Span != nil {
				there[id{rec.Span.TraceID, rec.Span.SpanID}] = true
			} else {
				there[id{rec.Entry.TraceID, rec.Entry.SpanID}] = true
			}
		}
		want := make(map[string][2]int64)
		count := func(name string, of, missing bool) {
			n := want[name]
			if of {
				n[0]++
				if missing {
					n[1]++
				}
			}
			want[name] = n
		}
		for _, rec := range records {
			var links []op.Link
			if rec.Span != nil {
				links = rec.Span.Links
			} else {
				e := rec.Entry
				links = e.Links
				accelerator := e.DeviceID == "cuda:0" && e.Side != op.SideHost
				count("starts", true, !e.Start.Known)
				count("devices", true, e.DeviceID == "" && !e.EmptyDevice)
				count("streams", accelerator, !e.Stream.Known)
				count("launch_times", accelerator, !e.Launch.Known)
				count("sequence_numbers", e.Kind == op.KindCollective && e.Side != op.SideHost, true)
				count("parents", true, e.ParentSpanID.IsZero())
				count("parent_records", !e.ParentSpanID.IsZero(), !there[id{e.TraceID, e.ParentSpanID}])
			}
			for _, l := range links {
				count("linked_spans", true, !there[id{l.TraceID, l.SpanID}])
				count("link_weights", true, !l.Weight.Known)
			}
		}
		for name, n := range want {
			f := find(r, name)
			check.Equal(t, fmt.Sprintf("seed %d: %s", seed, name), n, [2]int64{f.Count, f.Missing})
			check.Equal(t, fmt.Sprintf("seed %d: %s: estimated", seed, name), false, f.Estimated)
		}
	}
}

// With fewer rows than ids, the report is near the truth and independent of the order of records.
func TestSampleIsNearTheTruthInAnyOrder(t *testing.T) {
	const room = 4000
	rnd := rand.New(rand.NewPCG(1, 2))
	records := randomRecords(rnd, 20_000)
	whole := examine(records, maxIDs)
	part := examine(records, room)
	for _, name := range []string{"parent_records", "linked_spans"} {
		w := find(whole, name)
		p := find(part, name)
		check.Equal(t, name+": estimated", [2]bool{false, true}, [2]bool{w.Estimated, p.Estimated})
		if math.Abs(w.Share.V-p.Share.V) > 0.05 {
			t.Errorf("%s: the share is %v, by the sample %v", name, w.Share, p.Share)
		}
	}
	for range 3 {
		rnd.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		check.Equal(t, "in another order", part, examine(records, room))
	}
}

// Names beyond the limit share a row.
func TestManyNames(t *testing.T) {
	d := New()
	for i := range 3 * maxNames {
		d.Add(op.Record{Entry: &op.Entry{Operation: fmt.Sprint("op", i)}})
	}
	f := find(d.Report(analyze.Envelope{}), "starts")
	want := Operation{otherOperations, 2 * maxNames}
	if f.Missing != 3*maxNames || f.Operations[0] != want {
		t.Errorf("%d operations lack a start: %v", f.Missing, f.Operations)
	}
}

// Missing work and differing clocks of ranks have advice for the profiler.
func TestCoverageHasAdvice(t *testing.T) {
	d := New()
	for i := range int64(6) {
		for rank := range int64(2) {
			d.Add(op.Record{Entry: &op.Entry{
				Operation: "all_reduce", Kind: op.KindCollective, DeviceID: "cuda:0", Rank: op.Known(rank),
				Start: op.Known(1e6*i + 2e5*rank), Duration: 500,
				Collective: &op.Collective{Name: "all_reduce", Sequence: op.Known(i)},
			}})
		}
	}
	env := analyze.Envelope{WorldSize: op.Known(128), Formats: []string{"nsys"},
		Unrecorded: map[string]int64{"graph_launch_without_operation": 19, "captured_launch": 1}}
	check.Equal(t, "", []Lack{
		{"19 graph replays without an operation in the recording: idle times are not known", tryGraphs},
		{"1 launch captured into a graph that did not run", tryCapture},
		{"2 ranks in the input, of 128", "optrace report with the files of all ranks"},
		{"Clocks of ranks differ: rank 1 is 200 µs ahead of the reference, by the ends of 6 collectives",
			"optrace report -align-clocks FILE…"},
	}, d.Report(env).Coverage)
	env.Formats = []string{"chrome"}
	check.Equal(t, "", tryPyTorch, d.Report(env).Coverage[0].Try)
}

// A profiler's recording gets this profiler's options for missing properties, and no code.
func TestAdviceFitsTheProfiler(t *testing.T) {
	entry := func(name string, shapes []op.Shape) op.Entry {
		return op.Entry{Operation: name, Kind: op.KindCompute, DeviceID: "gpu:0", InputShapes: shapes}
	}
	for _, tt := range []struct {
		format                 string
		e                      op.Entry
		profiler, launch, flop string
	}{
		{"chrome", entry("aten::mm", nil), "pytorch", activities, pytorch.try["flops"]},
		{"chrome", entry("aten::mm", []op.Shape{{2, 2}}), "pytorch", activities, ""},
		{"nsys", entry("k", nil), "nsight", traceCUDA, ""},
		{"perfetto", entry("Cijk_Ailk", nil), "rocprof", traceAll, ""},
		{"ort", entry("MatMul", nil), "onnxruntime", "", ""},
		{"chrome", entry("matmul", nil), "", "", ""},
		{"entries", entry("aten::mm", nil), "", "", ""},
	} {
		d := New()
		d.Add(op.Record{Entry: &tt.e})
		r := d.Report(analyze.Envelope{Formats: []string{tt.format}})
		got := []string{r.Profiler, find(r, "launch_times").Try, find(r, "flops").Try}
		check.Equal(t, tt.format, []string{tt.profiler, tt.launch, tt.flop}, got)
		check.Equal(t, tt.format+": code", tt.profiler == "", len(find(r, "flops").Go) > 0)
	}
}

// A sampled recording states the missing share, by its weights or the sampler's ratio.
func TestSampledShare(t *testing.T) {
	d := New()
	for range 4 {
		d.Add(op.Record{Entry: &op.Entry{Operation: "a", AdjustedCount: 8}})
	}
	for _, tt := range []struct {
		how      analyze.Sampling
		by, want string
	}{
		{analyze.SamplingKnown, "", "About 87.5 % of operations are missing"},
		{analyze.SamplingUnknown, "ParentBased{root:TraceIDRatioBased{0.1}}",
			"About 90.0 % of operations are missing: the sampler ParentBased{root:TraceIDRatioBased{0.1}} left them out"},
		{analyze.SamplingUnknown, "own", "An unknown share of operations is missing: the sampler own left them out"},
	} {
		got := d.Report(analyze.Envelope{Entries: 4, Sampling: tt.how, Sampler: tt.by}).Coverage
		check.Equal(t, tt.by, tt.want, got[0].Text)
	}
}
