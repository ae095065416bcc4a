package workload

import (
	"bytes"
	"fmt"
	"io"
	"os"
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

func spansOf(t *testing.T, f Format, c Config) ([]*op.Entry, []*op.Span) {
	t.Helper()
	return recordtest.Split(t, ingest.Open(fileOf(t, f, c)).Records())
}

// fileOf returns the path of a file that Get makes in a new cache.
func fileOf(t *testing.T, f Format, c Config) string {
	t.Helper()
	return check.Must(Get(t.Context(), &measure.Env{Cache: t.TempDir(), Progress: io.Discard}, f, c))(t).Path
}

func TestGetMakesAFileOnce(t *testing.T) {
	env := &measure.Env{Cache: t.TempDir(), Progress: io.Discard}
	c := Config{Ops: 600, Kind: G512}
	first := check.Must(Get(t.Context(), env, OTLPProto, c))(t)
	if first.Ops != 600 || first.SumNS == 0 {
		t.Errorf("%+v", first)
	}
	made := check.Must(os.Stat(first.Path))(t)
	check.Equal(t, "the second time", first, check.Must(Get(t.Context(), env, OTLPProto, c))(t))
	if again := check.Must(os.Stat(first.Path))(t); !os.SameFile(made, again) {
		t.Error("the file was made twice")
	}
}

func TestSameConfigGivesSameSpans(t *testing.T) {
	for kind := range cases.Of(t, 1, simulated()) {
		c := Config{Ops: 1200, Kind: kind}
		first, _ := spansOf(t, OTLPProto, c)
		second, _ := spansOf(t, OTLPProto, c)
		check.Equal(t, fmt.Sprintf("%s: the same configuration again", kind), first, second)
		c.Seed++
		if other, _ := spansOf(t, OTLPProto, c); cmp.Equal(first, other) {
			t.Errorf("%s: another seed gives the same spans", kind)
		}
	}
}

func TestAllFormatsHoldTheSameSpans(t *testing.T) {
	for kind := range cases.Of(t, 1, simulated()) {
		c := Config{Ops: 1200, Kind: kind}
		var first []*op.Entry
		var above []*op.Span
		for _, f := range []Format{OTLPJSON, OTLPProto, OTLPMessage, Entries} {
			entries, spans := spansOf(t, f, c)
			for _, e := range entries {
				if e.Kind == op.KindUnknown || e.Path == "" || !e.Stream.Known || !e.Step.Known ||
					e.InputShapes == nil || e.OutputShape == nil || !e.MemoryBytes.Known ||
					(e.Collective != nil) != (e.Kind == op.KindCollective) {
					t.Fatalf("%s, %s: an entry lacks attributes of its span: %+v", kind, f, e)
				}
				if f == Entries && (e.Root != stepName || e.RootSpanID.IsZero()) {
					t.Fatalf("%s: an entry without its root: %+v", kind, e)
				}
				e.Root = "" // only entries have roots
				e.RootSpanID = op.SpanID{}
				e.KindRule = 0 // only entries of collectives have it
			}
			if first == nil {
				first = entries
				above = spans
			}
			if len(entries) != 1200 || len(spans) != len(above) {
				t.Errorf("%s, %s: %d operations and %d spans above, not %d", kind, f, len(entries), len(spans),
					len(above))
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
		path := fileOf(t, OTLPProto, Config{Ops: ops, Kind: kind})
		forest := trace.New()
		spans := 0
		for rec, err := range ingest.Open(path).Records() {
			check.OK(t, err)
			forest.Add(rec)
		}
		depths := map[string]int{layerName: 1, stepName: 0}
		for n := range forest.Nodes() {
			want := 2
			depth := 0
			if !n.IsOp() {
				want = depths[n.Name()]
				spans++
			}
			for above := n.Parent(); !above.IsZero(); above = above.Parent() {
				depth++
			}
			from := n.Start().V
			to := from + n.Duration()
			above := n.Parent()
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

func TestRecordedInAllFormats(t *testing.T) {
	cases.Rare(t)
	env := &measure.Env{Cache: t.TempDir(), Progress: io.Discard}
	for _, f := range []Format{Entries, OTLPJSON, OTLPProto, OTLPMessage} {
		file := check.Must(Get(t.Context(), env, f, Config{Ops: opsPerQuickstartStep, Kind: Recorded}))(t)
		if file.Ops < opsPerQuickstartStep || file.SumNS == 0 {
			t.Errorf("%s: %+v", f, file)
		}
		text := check.Must(os.ReadFile(file.Path))(t)
		if f != Entries && bytes.Contains(text, []byte(attrkey.Root)) {
			t.Errorf("%s: the exporter adds attributes", f)
		}
	}
}
