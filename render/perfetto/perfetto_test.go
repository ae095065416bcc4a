package perfetto_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/perfetto"
)

const start = 1795224124978150123

func entry(name, device string, from, duration int64) *op.Entry {
	return &op.Entry{Operation: name, Kind: op.KindCompute, DeviceID: device, Start: op.Known(start + from),
		Duration: duration}
}

// write returns a viewer's model of a timeline.
func write(t *testing.T, tl *perfetto.Timeline) *view {
	t.Helper()
	var b bytes.Buffer
	check.OK(t, tl.Write(&b))
	return viewOf(t, b.Bytes())
}

// describe writes a trace as text, with times from start on.
func describe(t *testing.T, trace *view) []byte {
	t.Helper()
	var b strings.Builder
	name := func(s *slice) string {
		return fmt.Sprintf("%s: %s [%d,%d)", s.track, s.name, s.start-start, s.end-start)
	}
	for _, track := range trace.tracks {
		fmt.Fprintf(&b, "track %s\n", track)
	}
	for _, s := range append(slices.Clone(trace.slices), trace.instants...) {
		fmt.Fprintf(&b, "%s %s\n", name(s), s.category)
	}
	for _, f := range trace.flows {
		fmt.Fprintf(&b, "flow %s -> %s\n", name(f[0]), name(f[1]))
	}
	for _, track := range trace.tracks {
		for _, p := range trace.counters[track] {
			fmt.Fprintf(&b, "%s: %d from %d\n", track, p[1], p[0]-start)
		}
	}
	return []byte(b.String())
}

func TestGolden(t *testing.T) {
	var tl perfetto.Timeline
	tl.AddSpan(&op.Span{
		Name: "POST /predict", TraceID: op.TraceID{1}, SpanID: op.SpanID{1}, Start: op.Known(start), Duration: 10_000,
		Service: "api",
	})
	matmul := &op.Entry{
		Operation: "matmul", Kind: op.KindCompute, DeviceID: "cuda:0", Start: op.Known(start + 1000), Duration: 600,
		TraceID: op.TraceID{1}, SpanID: op.SpanID{2}, ParentSpanID: op.SpanID{1}, Rank: op.Known(0),
		Stream: op.Known(7), Step: op.Known(3), Launch: op.Known(start + 400),
		InputShapes: []op.Shape{{64, 784}, nil, {}}, OutputShape: op.Shape{}, DType: op.F32,
		MemoryBytes: op.Known(4), FLOPs: op.Known(8), Failed: true, Error: "</script>\u2028",
	}
	tl.Add(matmul)
	inner := entry("inner", "cuda:0", 1100, 500) // within matmul, and to its end
	inner.Rank = op.Known(0)
	inner.Stream = op.Known(7)
	inner.MemoryBytes = op.Known(16)
	tl.Add(inner)
	overlap := entry("overlap", "cuda:0", 1200, 600)
	overlap.Rank = op.Known(0)
	overlap.Stream = op.Known(7)
	tl.Add(overlap)
	other := entry("copy", "cuda:1", 1300, 0)
	other.Rank = op.Known(0)
	other.Launch = op.Known(start + 1301) // of another clock
	other.Links = []op.Link{
		{TraceID: op.TraceID{1}, SpanID: op.SpanID{1}, Weight: op.Known(2)},
		{TraceID: op.TraceID{9}, SpanID: op.SpanID{9}},
	}
	tl.Add(other)
	late := &op.Entry{ // after its request
		Operation: "relu", Kind: op.KindCompute, DeviceID: "cuda:0", Start: op.Known(start + 12_000), Duration: 1,
		TraceID: op.TraceID{1}, SpanID: op.SpanID{3}, ParentSpanID: op.SpanID{1}, Rank: op.Known(1),
	}
	tl.Add(late)
	for _, name := range []string{"first", "second"} {
		tl.Add(&op.Entry{Operation: name, Kind: op.KindCompute, Duration: 1500})
	}
	golden.Check(t, "testdata/timeline.txt", describe(t, write(t, &tl)))
}

// In random traces, slices nest on their tracks, and the counter of memory matches the running operations.
func TestSlicesNest(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		var tl perfetto.Timeline
		memory := make(map[string][]*op.Entry)
		for i := range rng.IntN(60) {
			e := entry(fmt.Sprint("op", i), []string{"cuda:0", "cuda:1", ""}[rng.IntN(3)], rng.Int64N(1000),
				rng.Int64N(200))
			if rng.IntN(2) == 0 {
				e.Stream = op.Known(rng.Int64N(2))
			}
			if rng.IntN(2) == 0 {
				e.MemoryBytes = op.Known(rng.Int64N(100))
				memory[e.DeviceID] = append(memory[e.DeviceID], e)
			}
			tl.Add(e)
		}
		trace := write(t, &tl)
		for device, entries := range memory {
			points := trace.counters["devices/"+cmp.Or(device, "unknown")+" memory in use="]
			for at := int64(start); at < start+1300; at += 7 {
				running := int64(0)
				for _, e := range entries {
					if e.Start.V <= at && at < e.Start.V+e.Duration {
						running += e.MemoryBytes.V
					}
				}
				shown := int64(0)
				for _, p := range points {
					if p[0] <= at {
						shown = p[1]
					}
				}
				if shown != running {
					t.Fatalf("%s: %d bytes at %d, want %d", device, shown, at-start, running)
				}
			}
		}
	}
}

// The utilisation is the busy part of each bucket.
func TestUtilisation(t *testing.T) {
	var tl perfetto.Timeline
	tl.Add(entry("a", "cuda:0", 0, 1000))
	tl.Add(entry("b", "cuda:0", 500, 1000))    // to 1500
	tl.Add(entry("c", "cuda:0", 49_000, 1000)) // to 50000: buckets of 100
	tl.Add(entry("d", "cuda:0", 2_030, 50))
	host := entry("e", "cuda:0", 3000, 9000)
	host.Side = op.SideHost
	tl.Add(host)
	want := [][2]int64{{0, 100}, {1500, 0}, {2000, 50}, {2100, 0}, {49_000, 100}, {50_000, 0}}
	var got [][2]int64
	for _, p := range write(t, &tl).counters["devices/cuda:0 utilisation=%"] {
		got = append(got, [2]int64{p[0] - start, p[1]})
	}
	check.Equal(t, "", want, got)
}

// A span with very many operations has no more flows than a viewer can show.
func TestFlowsAreLimited(t *testing.T) {
	var tl perfetto.Timeline
	tl.AddSpan(&op.Span{Name: "r", TraceID: op.TraceID{1}, SpanID: op.SpanID{1}, Start: op.Known(start), Duration: 1})
	for i := range 1<<12 + 10 {
		e := entry("op", "cpu", int64(i), 1)
		e.TraceID = op.TraceID{1}
		e.SpanID = op.SpanID{2, byte(i >> 8), byte(i)}
		e.ParentSpanID = op.SpanID{1}
		tl.Add(e)
	}
	check.Equal(t, "flows", 1<<12, len(write(t, &tl).flows))
}

// For any names and times, the trace matches the public schema and has all times.
func FuzzWrite(f *testing.F) {
	optest.FuzzEntries(f, func(t *testing.T, e *op.Entry) {
		var tl perfetto.Timeline
		tl.Add(e)
		tl.Add(e)
		trace := write(t, &tl)
		if len(trace.slices) != 2 {
			t.Fatalf("%d slices", len(trace.slices))
		}
		for _, s := range trace.slices {
			if s.name != e.Operation || s.start != e.Start.V || s.end-s.start != e.Duration {
				t.Errorf("%+v of %+v", s, e)
			}
		}
	})
}
