package chrome_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/golden"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/chrome"
)

// event is an event as a viewer reads it.
type event struct {
	Ph   string          `json:"ph"`
	Pid  int             `json:"pid"`
	Tid  int             `json:"tid"`
	TS   json.Number     `json:"ts"`
	Dur  json.Number     `json:"dur"`
	Name string          `json:"name"`
	Cat  string          `json:"cat"`
	ID   int             `json:"id"`
	BP   string          `json:"bp"`
	Args json.RawMessage `json:"args"`
}

type document struct {
	Base   int64   `json:"baseTimeNanoseconds"`
	Events []event `json:"traceEvents"`
}

func write(t *testing.T, tl *chrome.Timeline) (doc document, text []byte) {
	t.Helper()
	var b bytes.Buffer
	check.OK(t, tl.Write(&b))
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatalf("%v\n%s", err, b.Bytes())
	}
	return doc, b.Bytes()
}

// nanos returns a time in microseconds, with its three digits, as nanoseconds.
func nanos(t *testing.T, n json.Number) int64 {
	t.Helper()
	whole, fraction, ok := strings.Cut(n.String(), ".")
	if !ok || len(fraction) != 3 {
		t.Fatalf("time %q has not three digits behind the point", n)
	}
	return check.Must(json.Number(whole + fraction).Int64())(t)
}

const start = 1795224124978150123

func entry(name, device string, from, duration int64) *op.Entry {
	return &op.Entry{Operation: name, Kind: op.KindCompute, DeviceID: device, Start: op.Known(start + from), Duration: duration}
}

func TestGolden(t *testing.T) {
	var tl chrome.Timeline
	request := &op.Span{
		Name: "POST /predict", TraceID: op.TraceID{1}, SpanID: op.SpanID{1}, Start: op.Known(start), Duration: 10_000, Service: "api",
	}
	tl.AddSpan(request)
	matmul := entry("matmul", "cuda:0", 1000, 600)
	matmul.TraceID, matmul.SpanID, matmul.ParentSpanID = op.TraceID{1}, op.SpanID{2}, op.SpanID{1}
	matmul.Rank, matmul.Stream, matmul.Step = op.Known(0), op.Known(7), op.Known(3)
	matmul.InputShapes, matmul.OutputShape, matmul.DType = []op.Shape{{64, 784}, nil}, op.Shape{}, op.F32
	matmul.MemoryBytes, matmul.FLOPs, matmul.Failed, matmul.Error = op.Known(4), op.Known(8), true, "</script>\u2028"
	tl.Add(matmul)
	late := entry("relu", "cuda:0", 12_000, 1) // after its request
	late.TraceID, late.SpanID, late.ParentSpanID, late.Rank = op.TraceID{1}, op.SpanID{3}, op.SpanID{1}, op.Known(1)
	late.Links = []op.Link{{TraceID: op.TraceID{1}, SpanID: op.SpanID{2}}}
	tl.Add(late)
	for _, name := range []string{"first", "second"} {
		tl.Add(&op.Entry{Operation: name, Kind: op.KindCompute, Duration: 1500})
	}
	_, got := write(t, &tl)
	golden.Check(t, "testdata/timeline.json", got)
}

// Over random operations: every time is exact, and of two events on a thread
// that overlap one encloses the other.
func TestEventsOverlapOnlyByNesting(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		var tl chrome.Timeline
		want := make(map[[2]int64]int)
		for range rng.IntN(60) {
			e := entry("op", []string{"cuda:0", "cuda:1", ""}[rng.IntN(3)], rng.Int64N(1000), rng.Int64N(200))
			if rng.IntN(2) == 0 {
				e.Stream = op.Known(rng.Int64N(2))
			}
			want[[2]int64{e.Start.V, e.Duration}]++
			tl.Add(e)
		}
		doc, _ := write(t, &tl)
		var drawn []event
		for _, e := range doc.Events {
			if e.Ph == "X" {
				drawn = append(drawn, e)
				want[[2]int64{doc.Base + nanos(t, e.TS), nanos(t, e.Dur)}]--
			}
		}
		for times, n := range want {
			if n != 0 {
				t.Fatalf("%v is there %d times less than it should be", times, n)
			}
		}
		for i, a := range drawn {
			for _, b := range drawn[:i] {
				if a.Pid != b.Pid || a.Tid != b.Tid {
					continue
				}
				a0, b0 := nanos(t, a.TS), nanos(t, b.TS)
				a1, b1 := a0+nanos(t, a.Dur), b0+nanos(t, b.Dur)
				apart := a1 <= b0 || b1 <= a0
				nested := a0 <= b0 && b1 <= a1 || b0 <= a0 && a1 <= b1
				if !apart && !nested {
					t.Fatalf("[%d,%d) and [%d,%d) overlap on thread %d", a0, a1, b0, b1, a.Tid)
				}
			}
		}
	}
}

func TestEmpty(t *testing.T) {
	doc, _ := write(t, &chrome.Timeline{})
	if len(doc.Events) != 0 || doc.Base != 0 {
		t.Errorf("%+v", doc)
	}
}
