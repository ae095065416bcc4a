package ort_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/optrace/optrace/ingest/ort"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

func transcript(t testing.TB, text string, m *attr.Mapping) string {
	t.Helper()
	return recordtest.Transcript(t, ort.Records(strings.NewReader(text), "profile", m))
}

func TestGolden(t *testing.T) {
	text := check.Must(os.ReadFile("testdata/squeeze.json"))(t)
	golden.Check(t, "testdata/squeeze.golden", transcript(t, string(text), nil))
}

func TestRecords(t *testing.T) {
	m := &attr.Mapping{}
	m.Keep("node_index")
	golden.Cases(t, "testdata/cases.txt", func(text string) string { return transcript(t, text, m) })
}

// FuzzRecords checks that no input makes the reader panic, and that entries are valid and survive JSON Lines.
func FuzzRecords(f *testing.F) {
	text := check.Must(os.ReadFile("testdata/squeeze.json"))(f)
	f.Add(text)
	f.Add([]byte(`[{"cat":"Node","ph":"X","ts":1,"dur":-2,"args":{"op_name":"X","input_type_shape":[{"f":[1e3,-9]}],` +
		`"output_size":"-1"}}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		recordtest.Check(t, ort.Records(bytes.NewReader(text), "fuzz", nil))
		// A source of one byte at a time forces the lexer.
		straight := recordtest.Transcript(t, ort.Records(bytes.NewReader(text), "fuzz", nil))
		general := recordtest.Transcript(t, ort.Records(iotest.OneByteReader(bytes.NewReader(text)), "fuzz", nil))
		check.Equal(t, "in one pass", general, straight)
	})
}

func BenchmarkReadORT(b *testing.B) {
	const event = `{"cat" : "Node","pid" :4711,"tid" :4711,"dur" :857,"ts" :2002,"ph" : "X","name" :"conv1_kernel_ti` +
		`me","args" : {"output_type_shape" : [{"float":[1,64,111,111]}],"output_size" : "3154176","parameter_size" :` +
		` "7168","activation_size" : "602112","node_index" : "0","input_type_shape" : [{"float":[1,3,224,224]},{"flo` +
		`at":[64,3,3,3]},{"float":[64]}],"provider" : "CPUExecutionProvider","op_name" : "Conv"}}`
	const events = 10_000
	text := []byte("[" + strings.Repeat(event+",\n", events-1) + event + "]")
	recordtest.Benchmark(b, text, events, ort.Records)
}

func TestRecordsEnd(t *testing.T) {
	recordtest.Ends(t, ort.Records, string(check.Must(os.ReadFile("testdata/squeeze.json"))(t))[:2000])
}

// DirectML's nodes state no arguments; their names tell them apart.
func TestNodesOfDirectML(t *testing.T) {
	text, err := os.ReadFile("../../../shared/data/reports/35-ort-dml-noargs.json")
	if err != nil {
		t.Skip(err)
	}
	golden.Check(t, "testdata/directml.golden", transcript(t, string(text), nil))
}

// session makes the profile of a session and notes the parent of each event. The reader must find it by the times
// alone.
type session struct {
	*rand.Rand
	events []made
	above  map[string]string // by name: what an operation or span is below, and after "<" what launched it
	gpu    bool              // nodes on the GPU launch kernels
	count  int               // of nodes
}

type made struct {
	text       string
	start, end int64
	kernels    []string
}

func (s *session) event(category, name string, thread int, start, end int64, args string) {
	s.events = append(s.events, made{text: fmt.Sprintf(`{"cat":%q,"pid":1,"tid":%d,"ts":%d,"dur":%d,"ph":"X",`+
		`"name":%q,"args":{%s}}`,
		category, thread, start, end-start, name, args), start: start, end: end})
}

// nodes makes nodes in a row, some with a subgraph, and returns the end of the last.
func (s *session) nodes(thread int, at int64, above string, depth int) int64 {
	for range 1 + s.IntN(4) {
		name, start, kind, provider := fmt.Sprintf("n%d", s.count), at+s.Int64N(2), "MatMul", "CPU"
		s.count++
		if at = start + s.Int64N(4); depth > 0 && s.IntN(3) == 0 {
			kind = "Loop"
			at = 1 + s.execute(thread, start+1, name, depth-1)
		} else if s.gpu && s.IntN(2) == 0 {
			provider = "CUDA"
		}
		s.above[name] = above
		s.event("Node", name+"_kernel_time", thread, start, at,
			fmt.Sprintf(`"op_name":%q,"provider":"%sExecutionProvider"`, kind, provider))
		if provider == "CUDA" {
			node := &s.events[len(s.events)-1]
			for range s.IntN(3) {
				kernel := fmt.Sprintf("kernel %s %d", name, len(node.kernels))
				s.above[kernel] = above + " < " + name
				node.kernels = append(node.kernels, fmt.Sprintf(
					`{"cat":"Kernel","pid":-1,"tid":-1,"ts":%d,"dur":9,"ph":"X","name":%q,"args":{"op_name":"MatMul",`+
						`"stream":"7"}}`, at, kernel))
			}
		}
	}
	return at
}

// execute makes nodes with the executor around them.
func (s *session) execute(thread int, at int64, above string, depth int) int64 {
	name := fmt.Sprintf("SequentialExecutor::Execute %d.%d", thread, at)
	s.above[name] = above
	end := s.nodes(thread, at+1, name, depth) + 1
	s.event("Session", name, thread, at, end, "")
	return end
}

// profile makes a few runs on some threads and returns the text with the events sorted by start or by end.
func (s *session) profile(threads int) string {
	s.event("Session", "session_initialization", 1, 0, 5, "")
	for thread := 1; thread <= threads; thread++ {
		at := int64(10 + s.IntN(10))
		for range 1 + s.IntN(3) {
			at += (at + int64(thread)) % 2 // no two runs start at once, so that they can be told apart
			name := fmt.Sprintf("model_run@%d", at)
			s.above[name] = ""
			start := at
			first := at + 1 + s.Int64N(3)
			at = s.execute(thread, first, name, 2) + s.Int64N(3)
			if pool := fmt.Sprintf("pool %d", at); threads == 1 && s.IntN(2) == 0 {
				s.above[pool] = name
				s.event("Node", pool+"_kernel_time", 9, first, first+1,
					`"op_name":"Relu","provider":"CPUExecutionProvider"`)
			}
			s.event("Session", "model_run", thread, start, at, "")
			at += s.Int64N(3) * s.Int64N(1000)
		}
	}
	if s.IntN(2) == 0 {
		s.Shuffle(len(s.events), func(i, j int) { s.events[i], s.events[j] = s.events[j], s.events[i] })
		slices.SortStableFunc(s.events, func(a, b made) int { return cmp.Compare(a.start, b.start) })
	} else {
		slices.SortStableFunc(s.events, func(a, b made) int { return cmp.Compare(a.end, b.end) })
	}
	var texts []string
	for _, e := range s.events {
		texts = append(append(texts, e.text), e.kernels...)
	}
	return "[" + strings.Join(texts, ",\n") + "]"
}

// TestRunsAgainstTheirMaking compares parents and the nodes of kernels with the making of the profile.
func TestRunsAgainstTheirMaking(t *testing.T) {
	kernels := 0
	cases.Inputs(t, 50, 5000, func(seed uint64, r *rand.Rand) {
		s := &session{Rand: r, above: make(map[string]string), gpu: r.IntN(2) == 0}
		text := s.profile(1 + r.IntN(2))
		type key struct {
			trace op.TraceID
			span  op.SpanID
		}
		names := make(map[key]string)
		parents := make(map[string]key)
		launchers := make(map[string]key)
		roots := make(map[op.TraceID]int)
		for rec, err := range ort.Records(strings.NewReader(text), "profile", nil) {
			switch {
			case err != nil:
				t.Fatalf("seed %d: %v", seed, err)
			case rec.Span != nil:
				name := rec.Span.Name
				if name == "model_run" {
					roots[rec.Span.TraceID]++
					name = fmt.Sprintf("model_run@%d", rec.Span.Start.V/1000)
				}
				names[key{rec.Span.TraceID, rec.Span.SpanID}] = name
				parents[name] = key{rec.Span.TraceID, rec.Span.ParentSpanID}
			case rec.Entry != nil:
				e := rec.Entry
				name := rec.Entry.Path
				if e.LaunchedBy != "" {
					name = e.Operation
					launchers[name] = key{e.TraceID, e.LaunchSpanID}
					kernels++
				}
				names[key{e.TraceID, e.SpanID}] = name
				parents[name] = key{e.TraceID, e.ParentSpanID}
			}
		}
		got := make(map[string]string)
		for name, parent := range parents {
			got[name] = names[parent]
			if by, ok := launchers[name]; ok {
				got[name] += " < " + names[by]
			}
		}
		check.Equal(t, fmt.Sprintf("seed %d: %s\nwhat is below what", seed, text), s.above, got)
		for trace, n := range roots {
			if n != 1 {
				t.Errorf("seed %d: %d runs in trace %s", seed, n, trace)
			}
		}
	})
	if kernels == 0 {
		t.Error("no kernel was compared")
	}
}
