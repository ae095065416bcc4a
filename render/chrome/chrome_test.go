package chrome_test

import (
	"bytes"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/chrome"
)

const start = 1795224124978150123

func TestGolden(t *testing.T) {
	var tl chrome.Timeline
	request := &op.Span{
		Name: "POST /predict", TraceID: op.TraceID{1}, SpanID: op.SpanID{1}, Start: op.Known(start), Duration: 10_000,
		Service: "api",
	}
	tl.AddSpan(request)
	matmul := &op.Entry{
		Operation: "matmul", Kind: op.KindCompute, DeviceID: "cuda:0", Start: op.Known(start + 1000), Duration: 600,
		TraceID: op.TraceID{1}, SpanID: op.SpanID{2}, ParentSpanID: op.SpanID{1}, Rank: op.Known(0),
		Stream: op.Known(7), Step: op.Known(3), InputShapes: []op.Shape{{64, 784}, nil}, OutputShape: op.Shape{},
		DType: op.F32, MemoryBytes: op.Known(4), FLOPs: op.Known(8), Failed: true, Error: "</script>\u2028",
	}
	tl.Add(matmul)
	late := &op.Entry{ // after its request
		Operation: "relu", Kind: op.KindCompute, DeviceID: "cuda:0", Start: op.Known(start + 12_000), Duration: 1,
		TraceID: op.TraceID{1}, SpanID: op.SpanID{3}, ParentSpanID: op.SpanID{1}, Rank: op.Known(1),
		Links: []op.Link{{TraceID: op.TraceID{1}, SpanID: op.SpanID{2}}},
	}
	tl.Add(late)
	for _, name := range []string{"first", "second"} {
		tl.Add(&op.Entry{Operation: name, Kind: op.KindCompute, Duration: 1500})
	}
	var b bytes.Buffer
	check.OK(t, tl.Write(&b))
	golden.Check(t, "testdata/timeline.json", b.Bytes())
}
