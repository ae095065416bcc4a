package workload

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/recordtest"
	"github.com/optrace/optrace/op"
)

func simulated() []Kind { return []Kind{G512, G1, Random} }

func write(t *testing.T, f Format, c Config) (Summary, []*op.Entry, []*op.Span) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spans")
	sum := check.Must(WriteFile(path, f, c))(t)
	entries, spans := recordtest.Split(t, ingest.Open(path).Records())
	return sum, entries, spans
}

func TestSameConfigGivesSameSpans(t *testing.T) {
	for kind := range cases.Of(t, 1, simulated()) {
		c := Config{Ops: 1200, Kind: kind}
		_, first, _ := write(t, OTLPProto, c)
		_, second, _ := write(t, OTLPProto, c)
		check.Equal(t, fmt.Sprintf("%s: the same configuration again", kind), first, second)
		c.Seed++
		if _, other, _ := write(t, OTLPProto, c); cmp.Equal(first, other) {
			t.Errorf("%s: another seed gives the same spans", kind)
		}
	}
}

// All formats hold the same, and what was written is read back.
func TestFormatsAgree(t *testing.T) {
	for kind := range cases.Of(t, 1, simulated()) {
		c := Config{Ops: 1200, Kind: kind}
		var first []*op.Entry
		for _, f := range []Format{OTLPJSON, OTLPProto, OTLPMessage, Entries} {
			sum, entries, spans := write(t, f, c)
			got := Summary{Ops: int64(len(entries)), Spans: int64(len(entries) + len(spans))}
			for _, e := range entries {
				got.SumNS += e.Duration
				if e.Kind == op.KindUnknown || e.Path == "" || !e.Stream.Known || !e.Step.Known || e.InputShapes == nil || e.OutputShape == nil ||
					!e.MemoryBytes.Known || (e.Collective != nil) != (e.Kind == op.KindCollective) {
					t.Fatalf("%s, %s: an entry lacks what its span has: %+v", kind, f, e)
				}
				if f == Entries && (e.Root != stepName || e.RootSpanID.IsZero()) {
					t.Fatalf("%s: an entry without its root: %+v", kind, e)
				}
				e.Root, e.RootSpanID = "", op.SpanID{} // of entries alone
				e.KindRule = 0                         // which entries keep for collectives only
			}
			if diff := cmp.Diff(sum, got); diff != "" || sum.Ops != 1200 {
				t.Errorf("%s, %s (-written +read):\n%s", kind, f, diff)
			}
			if first == nil {
				first = entries
			}
			check.Equal(t, fmt.Sprintf("%s: %s", kind, f), byID(first), byID(entries))
		}
	}
}

func byID(entries []*op.Entry) map[op.SpanID]*op.Entry {
	all := map[op.SpanID]*op.Entry{}
	for _, e := range entries {
		all[e.SpanID] = e
	}
	return all
}

func TestSpansNest(t *testing.T) {
	for kind := range cases.Of(t, 1, simulated()) {
		ops := cases.Count(t, numDevices*opsPerGraph+2000, 2*numDevices*opsPerGraph) // more than a step of each device
		_, entries, spans := write(t, OTLPProto, Config{Ops: ops, Kind: kind})
		type node struct {
			name       string
			trace      op.TraceID
			parent     op.SpanID
			start, end int64
		}
		byID := map[op.SpanID]node{}
		for _, e := range entries {
			byID[e.SpanID] = node{"", e.TraceID, e.ParentSpanID, e.Start.V, e.End().V}
		}
		for _, s := range spans {
			byID[s.SpanID] = node{s.Name, s.TraceID, s.ParentSpanID, s.Start.V, s.Start.V + s.Duration}
		}
		if len(byID) != len(entries)+len(spans) {
			t.Fatalf("%s: %d ids of %d spans", kind, len(byID), len(entries)+len(spans))
		}
		depths := map[string]int{"": 2, layerName: 1, stepName: 0}
		for id, n := range byID {
			depth := 0
			for at := n; !at.parent.IsZero(); depth++ {
				parent, ok := byID[at.parent]
				if !ok || parent.trace != at.trace || parent.start > at.start || parent.end < at.end {
					t.Fatalf("%s: %v has no parent that holds it", kind, id)
				}
				at = parent
			}
			if n.end <= n.start || depth != depths[n.name] {
				t.Fatalf("%s: %q lies %d below the root, from %d to %d", kind, n.name, depth, n.start, n.end)
			}
		}
		if len(entries) != ops || len(spans) < ops/opsPerLayer {
			t.Errorf("%s: %d operations and %d spans above", kind, len(entries), len(spans))
		}
	}
}

// The kinds differ in how often attributes repeat and devices change.
func TestKinds(t *testing.T) {
	cases.Rare(t)
	type variety struct {
		Names, Processes, Steps int
		ShapesRepeat, InRuns    bool
	}
	got := map[Kind]variety{}
	const ops = 32_000
	for _, kind := range simulated() {
		_, entries, _ := write(t, OTLPProto, Config{Ops: ops, Kind: kind})
		names, processes, shapes, steps := map[string]bool{}, map[op.Int]bool{}, map[string]bool{}, map[int64]bool{}
		changes, device := 0, ""
		for _, e := range entries {
			names[e.Operation], processes[e.Rank], steps[e.Step.V] = true, true, true
			shapes[e.Operation+e.DeviceID+e.Path+e.OutputShape.String()] = true
			if e.DeviceID != device {
				changes, device = changes+1, e.DeviceID
			}
		}
		got[kind] = variety{len(names), len(processes), len(steps), len(shapes) < ops*3/4, changes < ops/100}
	}
	want := map[Kind]variety{
		G512:   {len(operations), numDevices, 3, true, true},
		G1:     {len(operations), 1, 3, true, false},
		Random: {len(operations), 1, 3, false, false},
	}
	check.Equal(t, "kinds", want, got)
}

// What the quickstart example records is there in all formats.
func TestRecorded(t *testing.T) {
	cases.Rare(t)
	env := &measure.Env{Cache: t.TempDir(), Progress: io.Discard}
	var want Summary
	for i, f := range Formats() {
		file := check.Must(Get(t.Context(), env, f, Config{Ops: opsPerQuickstartStep, Kind: Recorded}))(t)
		got := file.Summary
		if i == 0 {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" || got.Ops < opsPerQuickstartStep {
			t.Errorf("%s (-want +got):\n%s", f, diff)
		}
		text, err := os.ReadFile(file.Path)
		if err != nil || f != Entries && bytes.Contains(text, []byte(attrkey.Root)) {
			t.Errorf("%s: there are attributes that were not recorded (%v)", f, err)
		}
	}
}

func TestErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spans")
	for name, write := range map[string]func() error{
		"kind":     func() error { _, err := WriteFile(path, OTLPJSON, Config{Ops: 1, Kind: "x"}); return err },
		"ops":      func() error { _, err := WriteFile(path, OTLPJSON, Config{Kind: G1}); return err },
		"format":   func() error { _, err := WriteFile(path, "x", Config{Ops: 1, Kind: G1}); return err },
		"recorded": func() error { _, err := WriteFile(path, OTLPJSON, Config{Ops: 1, Kind: Recorded}); return err },
		"path":     func() error { _, err := WriteFile("no/such/dir/x", OTLPJSON, Config{Ops: 1, Kind: G1}); return err },
	} {
		if write() == nil {
			t.Errorf("a wrong %s is no error", name)
		}
	}
}
