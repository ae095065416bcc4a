package workload

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/bench/measure"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

func simulated() []Kind { return []Kind{G512, G1, Random} }

func write(t *testing.T, f Format, c Config) ([]*op.Entry, []*op.Span) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "spans")
	check.OK(t, WriteFile(path, f, c))
	return recordtest.Split(t, ingest.Open(path).Records())
}

func TestSameConfigGivesSameSpans(t *testing.T) {
	for kind := range cases.Of(t, 1, simulated()) {
		c := Config{Ops: 1200, Kind: kind}
		first, _ := write(t, OTLPProto, c)
		second, _ := write(t, OTLPProto, c)
		check.Equal(t, fmt.Sprintf("%s: the same configuration again", kind), first, second)
		c.Seed++
		if other, _ := write(t, OTLPProto, c); cmp.Equal(first, other) {
			t.Errorf("%s: another seed gives the same spans", kind)
		}
	}
}

// All formats hold the same, and what was written is read back.
func TestFormatsAgree(t *testing.T) {
	for kind := range cases.Of(t, 1, simulated()) {
		c := Config{Ops: 1200, Kind: kind}
		var first []*op.Entry
		var above []*op.Span
		for _, f := range []Format{OTLPJSON, OTLPProto, OTLPMessage, Entries} {
			entries, spans := write(t, f, c)
			for _, e := range entries {
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
			if first == nil {
				first, above = entries, spans
			}
			if len(entries) != 1200 || len(spans) != len(above) {
				t.Errorf("%s, %s: %d operations and %d spans above, not %d", kind, f, len(entries), len(spans), len(above))
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
		path := filepath.Join(t.TempDir(), "spans")
		check.OK(t, WriteFile(path, OTLPProto, Config{Ops: ops, Kind: kind}))
		forest, spans := trace.New(), 0
		for rec, err := range ingest.Open(path).Records() {
			check.OK(t, err)
			forest.Add(rec)
		}
		depths := map[string]int{layerName: 1, stepName: 0}
		for n := range forest.Nodes() {
			want, depth := 2, 0
			if !n.IsOp() {
				want, spans = depths[n.Name()], spans+1
			}
			for above := n.Parent(); !above.IsZero(); above = above.Parent() {
				depth++
			}
			from, to, above := n.Start().V, n.Start().V+n.Duration(), n.Parent()
			if to <= from || depth != want || n.IsDuplicate() ||
				depth > 0 && (above.Start().V > from || above.Start().V+above.Duration() < to) {
				t.Fatalf("%s: %q lies %d below the root, from %d to %d", kind, n.Name(), depth, from, to)
			}
		}
		if forest.Len() != ops+spans || spans < ops/opsPerLayer {
			t.Errorf("%s: %d operations and %d spans above", kind, forest.Len()-spans, spans)
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
		entries, _ := write(t, OTLPProto, Config{Ops: ops, Kind: kind})
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
		"kind":     func() error { return WriteFile(path, OTLPJSON, Config{Ops: 1, Kind: "x"}) },
		"ops":      func() error { return WriteFile(path, OTLPJSON, Config{Kind: G1}) },
		"format":   func() error { return WriteFile(path, "x", Config{Ops: 1, Kind: G1}) },
		"recorded": func() error { return WriteFile(path, OTLPJSON, Config{Ops: 1, Kind: Recorded}) },
		"path":     func() error { return WriteFile("no/such/dir/x", OTLPJSON, Config{Ops: 1, Kind: G1}) },
	} {
		if write() == nil {
			t.Errorf("a wrong %s is no error", name)
		}
	}
}
