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

func entry(name, device string, from, duration int64) *op.Entry {
	return &op.Entry{Operation: name, Kind: op.KindCompute, DeviceID: device, Start: op.Known(start + from),
		Duration: duration}
}

func TestGolden(t *testing.T) {
	var tl chrome.Timeline
	request := &op.Span{
		Name: "POST /predict", TraceID: op.TraceID{1}, SpanID: op.SpanID{1}, Start: op.Known(start), Duration: 10_000,
		Service: "api",
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
	var b bytes.Buffer
	check.OK(t, tl.Write(&b))
	golden.Check(t, "testdata/timeline.json", b.Bytes())
}
