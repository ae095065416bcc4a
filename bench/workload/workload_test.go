package workload

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/ingest"
)

func spansOf(t *testing.T, c Config) []Span {
	t.Helper()
	seq, err := c.Spans()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(seq)
}

func mixes() []Mix { return []Mix{G512, G1, Random} }

// describe returns all that there is to know of the spans.
func describe(spans []Span) []string {
	lines := make([]string, len(spans))
	for i, s := range spans {
		spec := Spec{}
		if s.Op != nil {
			spec = *s.Op
		}
		s.Op = nil
		lines[i] = fmt.Sprint(s, spec.Name, spec.Device, spec.DType, spec.Inputs, spec.Output)
	}
	return lines
}

func TestSpansAreDeterministic(t *testing.T) {
	for _, mix := range mixes() {
		t.Run(string(mix), func(t *testing.T) {
			c := Config{Ops: 3000, Mix: mix}
			first := describe(spansOf(t, c))
			if diff := cmp.Diff(first, describe(spansOf(t, c))); diff != "" {
				t.Errorf("the same configuration gives other spans (-first +second):\n%s", diff)
			}
			c.Seed++
			if slices.Equal(first, describe(spansOf(t, c))) {
				t.Error("another seed gives the same spans")
			}
		})
	}
}

func TestSpansNest(t *testing.T) {
	for _, mix := range mixes() {
		t.Run(string(mix), func(t *testing.T) {
			const ops = 40_000
			spans := spansOf(t, Config{Ops: ops, Mix: mix})
			type node struct {
				trace      trace.TraceID
				start, end int64
				parent     trace.SpanID
			}
			byID := map[trace.SpanID]node{}
			for _, s := range spans {
				if _, twice := byID[s.SpanID]; twice {
					t.Fatalf("span id %v is there twice", s.SpanID)
				}
				byID[s.SpanID] = node{s.TraceID, s.Start, s.End, s.Parent}
			}
			found, steps := 0, 0
			for _, s := range spans {
				if s.End <= s.Start {
					t.Fatalf("%s ends at %d and starts at %d", s.Name, s.End, s.Start)
				}
				depth := 0
				for at := byID[s.SpanID]; at.parent.IsValid(); depth++ {
					parent, ok := byID[at.parent]
					if !ok || parent.trace != at.trace || parent.start > at.start || parent.end < at.end {
						t.Fatalf("%s has no parent that holds it", s.Name)
					}
					at = parent
				}
				switch {
				case s.Op != nil && depth == 2:
					found++
				case s.Name == layerName && depth == 1:
				case s.Name == stepName && depth == 0:
					steps++
				default:
					t.Fatalf("%s lies %d below the root", s.Name, depth)
				}
			}
			if found != ops || steps < ops/opsPerGraph {
				t.Errorf("%d operations in %d steps, want %d in %d at least", found, steps, ops, ops/opsPerGraph)
			}
		})
	}
}

// The mixes differ in how often attributes repeat and processes change.
func TestMixes(t *testing.T) {
	type variety struct{ Specs, Names, Processes int }
	got := map[Mix]variety{}
	const ops = 64_000
	for _, mix := range mixes() {
		specs, names, processes := map[*Spec]bool{}, map[string]bool{}, map[int]bool{}
		for _, s := range spansOf(t, Config{Ops: ops, Mix: mix}) {
			processes[s.Process] = true
			if s.Op != nil {
				specs[s.Op], names[s.Name] = true, true
			}
		}
		got[mix] = variety{len(specs), len(names), len(processes)}
	}
	want := map[Mix]variety{
		G512:   {opsPerGraph * numDevices, len(operations), numDevices},
		G1:     {opsPerGraph * numDevices, len(operations), 1},
		Random: {ops, len(operations), 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mixes (-want +got):\n%s", diff)
	}
}

// What is read back from the files is what was written.
func TestFilesReadBack(t *testing.T) {
	for _, mix := range mixes() {
		for _, f := range []Format{OTLPJSON, OTLPProto, Entries} {
			for _, text := range []bool{false, true} {
				c := Config{Ops: 1500, Mix: mix, TextShapes: text}
				path := filepath.Join(t.TempDir(), "ops")
				want, err := WriteFile(path, f, c)
				if err != nil {
					t.Fatal(err)
				}
				var got Summary
				for rec, err := range ingest.Open(path).Records() {
					switch {
					case err != nil:
						t.Fatalf("%s %v: %v", f, c, err)
					case rec.Entry != nil:
						if rec.Entry.OutputShape == nil || rec.Entry.InputShapes == nil || !rec.Entry.MemoryBytes.Known {
							t.Fatalf("%s %v: an entry lacks what its span has: %+v", f, c, rec.Entry)
						}
						got.Ops, got.Spans, got.SumNS = got.Ops+1, got.Spans+1, got.SumNS+rec.Entry.Duration
					case rec.Span != nil:
						got.Spans++
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s %v (-written +read):\n%s", f, c, diff)
				}
			}
		}
	}
}

func TestWriteIsDeterministic(t *testing.T) {
	for _, f := range []Format{OTLPJSON, OTLPProto} {
		c := Config{Ops: 1000, Mix: G512}
		var a, b bytes.Buffer
		sum, err := Write(&a, f, c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Write(&b, f, c); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%s: two files of the same configuration differ", f)
		}
		if sum.Ops != 1000 || sum.SumNS == 0 {
			t.Errorf("%s: wrote %+v", f, sum)
		}
	}
}

func TestErrors(t *testing.T) {
	for name, write := range map[string]func() error{
		"mix":    func() error { _, err := Write(&bytes.Buffer{}, OTLPJSON, Config{Ops: 1, Mix: "x"}); return err },
		"ops":    func() error { _, err := Write(&bytes.Buffer{}, OTLPJSON, Config{Mix: G1}); return err },
		"format": func() error { _, err := Write(&bytes.Buffer{}, "x", Config{Ops: 1, Mix: G1}); return err },
	} {
		if write() == nil {
			t.Errorf("a wrong %s is no error", name)
		}
	}
}
