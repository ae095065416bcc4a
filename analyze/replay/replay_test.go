package replay_test

import (
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

const ms = 1_000_000

// read returns the graph of a file.
func read(t *testing.T, path string) *replay.Graph {
	f, _, err := analyze.ReadForest(t.Context(), ingest.Open(path), 1)
	check.OK(t, err)
	return replay.New(f)
}

func parse(t *testing.T, text string) replay.Change {
	c, err := replay.Parse(text)
	check.OK(t, err)
	return c
}

// saved returns what changes save of the run.
func saved(t *testing.T, g *replay.Graph, changes ...string) int64 {
	var list []replay.Change
	for _, c := range changes {
		list = append(list, parse(t, c))
	}
	r, err := g.Run(list...)
	check.OK(t, err)
	if r.Run.LowNS > r.Run.ReplayedNS || r.Run.HighNS < r.Run.ReplayedNS {
		t.Errorf("%v: %d is not within its bounds [%d, %d]", changes, r.Run.ReplayedNS, r.Run.LowNS, r.Run.HighNS)
	}
	return r.Run.NS - r.Run.ReplayedNS
}

// random returns a random forest: of trees, of launches, of loops or of requests with shared executions.
func random(r *rand.Rand) *trace.Forest {
	f := trace.New()
	switch r.IntN(4) {
	case 0:
		tracetest.AddTo(f, tracetest.RandomSpecs(r, 2+r.IntN(60))...)
	case 1:
		for _, e := range tracetest.Launches(r, 2+r.IntN(60)) {
			f.Add(op.Record{Entry: &e})
		}
	case 2:
		tracetest.AddTo(f, tracetest.Loops(r)...)
	default:
		tracetest.AddTo(f, tracetest.LinkedTraces(r)...)
	}
	return f
}

func TestWithoutAChangeEveryTimeIsAsRecorded(t *testing.T) {
	files, err := filepath.Glob("../../ingest/kineto/testdata/h100/*.json.gz")
	check.OK(t, err)
	for _, path := range files {
		if points, moved := read(t, path).Differences(); moved != 0 || points == 0 {
			t.Errorf("%s: %d of %d points moved", filepath.Base(path), moved, points)
		}
	}
	cases.Inputs(t, 500, 5000, func(seed uint64, r *rand.Rand) {
		g := replay.New(random(r))
		if points, moved := g.Differences(); moved != 0 {
			t.Errorf("seed %d: %d of %d points moved", seed, moved, points)
		}
		res, err := g.Run()
		check.OK(t, err)
		ns := res.Run.NS
		if diff := cmp.Diff(replay.Times{NS: ns, ReplayedNS: ns, LowNS: ns, HighNS: ns}, res.Run); diff != "" {
			t.Errorf("seed %d: %s", seed, diff)
		}
	})
}

func TestUnexplainedTimeIsWithinItsBound(t *testing.T) {
	some := 0
	cases.Inputs(t, 200, 2000, func(seed uint64, r *rand.Rand) {
		f := trace.New()
		for _, e := range tracetest.Launches(r, 2+r.IntN(60)) {
			const longer = 20_000
			e.Start.V *= longer
			e.Launch.V *= longer
			e.Duration *= longer
			f.Add(op.Record{Entry: &e})
		}
		share, bound := replay.New(f).UnexplainedWithin()
		if share > bound {
			t.Errorf("seed %d: %g of the path is unexplained, the bound is %g", seed, share, bound)
		}
		if share > 0 {
			some++
		}
	})
	if some == 0 {
		t.Error("no operation waits without a reason")
	}
}

func TestAShorterOperationNeverMakesTheRunLonger(t *testing.T) {
	cases.Inputs(t, 500, 5000, func(seed uint64, r *rand.Rand) {
		f := random(r)
		g := replay.New(f)
		var names []string
		for n := range f.Nodes() {
			names = append(names, n.Name())
		}
		if len(names) == 0 {
			return
		}
		name := tracetest.Pick(r, names...)
		before := int64(-1)
		for _, factor := range []float64{1, 0.7, 0.3, 0} {
			res, err := g.Run(replay.Change{Kind: replay.Scale, Select: name, Factor: factor})
			if err != nil {
				return // a name without a time
			}
			if before >= 0 && res.Run.ReplayedNS > before {
				t.Fatalf("seed %d: %g× %q takes %d ns, more time takes %d", seed, factor, name,
					res.Run.ReplayedNS, before)
			}
			before = res.Run.ReplayedNS
		}
	})
}

// The recordings are of an H100. The gains come from an independent replay.
func TestGainsOnRealTraces(t *testing.T) {
	for _, c := range []struct {
		file, change string
		low, high    int64
	}{
		{"sync", "nowait cudaStreamSynchronize", 0.9 * ms, 1.3 * ms},
		{"pageable", "rate=25GB/s Memcpy HtoD (Pageable -> Device)", 57 * ms, 63 * ms},
		{"gemm", "host 0.5x", 0, 1 * ms},
		{"gemm", "0.5x aten::mm", 22 * ms, 23.5 * ms},
	} {
		g := read(t, "../../ingest/kineto/testdata/h100/"+c.file+".json.gz")
		if got := saved(t, g, c.change); got < c.low || got > c.high {
			t.Errorf("%s: %q saves %d ns, not %d to %d", c.file, c.change, got, c.low, c.high)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]replay.Change{
		"0.5x matmul":                 {Kind: replay.Scale, Select: "matmul", Factor: 0.5},
		"remove Memcpy HtoD":          {Kind: replay.Remove, Select: "Memcpy HtoD"},
		"rate=25GB/s Memcpy HtoD (a)": {Kind: replay.Rate, Select: "Memcpy HtoD (a)", Factor: 25e9},
		"host 0.5x":                   {Kind: replay.Host, Factor: 0.5},
		"host 0x rank=1":              {Kind: replay.Host, Select: "rank=1"},
		"pauses":                      {Kind: replay.Pauses},
		"chunk=64":                    {Kind: replay.Chunk, Factor: 64},
		"replicas=2":                  {Kind: replay.Replicas, Factor: 2},
		"balance device=cuda:*":       {Kind: replay.Balance, Select: "device=cuda:*"},
		"parts=8 kind=collective":     {Kind: replay.Parts, Select: "kind=collective", Factor: 8},
		"roofline matmul":             {Kind: replay.Roofline, Select: "matmul"},
		"roofline=0.7 matmul":         {Kind: replay.Roofline, Select: "matmul", Factor: 0.7},
	} {
		got := parse(t, text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
		if again := parse(t, got.String()); again != got {
			t.Errorf("%q is written as %q", text, got)
		}
	}
	for _, text := range []string{
		"", "matmul", "0.5 matmul", "remove", "-1x matmul", "rate=fast copy", "host", "without 7", "fuse matmul", "NaNx matmul",
		"chunk=0", "chunk=64 matmul", "chunk 64", "replicas=1", "replicas=1.5", "replicas=2 mlp",
		"parts=1 all_reduce", "parts=x all_reduce", "parts=8",
		"roofline=0 matmul", "roofline=1.1 matmul", "roofline=x matmul",
	} {
		if c, err := replay.Parse(text); err == nil {
			t.Errorf("%q is read as %v", text, c)
		}
	}
}

// The main thread is silent while backward works on another thread: with half the host's time it goes on earlier.
func TestASilentThreadGoesOnAfterAnother(t *testing.T) {
	f := trace.New()
	for _, o := range []struct {
		name               string
		thread, start, end int64
	}{{"forward", 1, 0, 1_000}, {"backward", 2, 1_000, 9_000}, {"optimizer", 1, 9_010, 10_000}} {
		const origin = 1_700_000_000_000_000_000
		f.Add(op.Record{Entry: &op.Entry{
			Operation: o.name, Side: op.SideHost, Start: op.Known(origin + o.start*1_000),
			Duration: (o.end - o.start) * 1_000,
			Attrs:    []op.Attr{{Key: "thread.id", Type: op.AttrInt, Value: strconv.FormatInt(o.thread, 10)}},
		}})
	}
	check.Equal(t, "saved", int64(4*ms), saved(t, replay.New(f), "0.5x backward"))
}

// An operation waits for the one that the recording states, and else for the last one that ended.
func TestRecordedWaits(t *testing.T) {
	for stated, want := range map[bool]int64{true: -95 * ms, false: 0} {
		f := trace.New()
		add := func(id byte, name string, stream, start, duration int64) {
			f.Add(op.Record{Entry: &op.Entry{Operation: name, DeviceID: "cuda:0", Stream: op.Known(stream),
				Kind:  op.KindCompute,
				Start: op.Known(start * ms), Duration: duration * ms, TraceID: op.TraceID{1}, SpanID: op.SpanID{7: id}}})
		}
		add(1, "early", 1, 0, 95)
		add(2, "late", 2, 0, 100)
		add(3, "last", 3, 100, 100)
		if stated {
			f.Add(op.Record{Call: &op.Entry{TraceID: op.TraceID{1}, SpanID: op.SpanID{7: 1},
				ParentSpanID: op.SpanID{7: 3}}})
		}
		check.Equal(t, "saved by a longer early", want, saved(t, replay.New(f), "2x early"))
	}
}

// A wait belongs to a stream: another thread than that of the launch may have called for it.
func TestAnyThreadMayLetAStreamWait(t *testing.T) {
	for waiting, want := range map[int64]int64{9: 5*ms - 5_000, 8: 0} {
		f := trace.New()
		thread := func(n int) []op.Attr {
			return []op.Attr{{Key: "thread.id", Type: op.AttrInt, Value: strconv.Itoa(n)}}
		}
		for i, o := range []struct{ stream, launch, start, duration int64 }{
			{7, 0, 0, 10}, {8, 1, 1, 1}, {9, 5, 10, 10},
		} {
			f.Add(op.Record{Entry: &op.Entry{
				Operation: string(rune('a' + i)), Kind: op.KindCompute, DeviceID: "cuda:0", Rank: op.Known(int64(0)),
				Stream: op.Known(o.stream), Launch: op.Known(o.launch * ms), Start: op.Known(o.start * ms),
				Duration: o.duration * ms, Attrs: thread(1),
			}})
		}
		f.Add(op.Record{Call: &op.Entry{
			Operation: "cudaStreamWaitEvent", Rank: op.Known(int64(0)), Start: op.Known(int64(4 * ms)), Duration: 1000, Attrs: append(
				thread(2), op.Attr{Key: "tensor.wait.stream", Type: op.AttrInt, Value: "7"}),
			Stream: op.Known(waiting),
		}})
		check.Equal(t, "saved", want, saved(t, replay.New(f), "0.5x a"))
	}
}
