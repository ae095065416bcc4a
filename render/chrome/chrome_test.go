package chrome_test

import (
	"bytes"
	"io"
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
	matmul.TraceID = op.TraceID{1}
	matmul.SpanID = op.SpanID{2}
	matmul.ParentSpanID = op.SpanID{1}
	matmul.Rank = op.Known(0)
	matmul.Stream = op.Known(7)
	matmul.Step = op.Known(3)
	matmul.InputShapes = []op.Shape{{64, 784}, nil}
	matmul.OutputShape = op.Shape{}
	matmul.DType = op.F32
	matmul.MemoryBytes = op.Known(4)
	matmul.FLOPs = op.Known(8)
	matmul.Failed = true
	matmul.Error = "</script>\u2028"
	tl.Add(matmul)
	late := entry("relu", "cuda:0", 12_000, 1) // after its request
	late.TraceID = op.TraceID{1}
	late.SpanID = op.SpanID{3}
	late.ParentSpanID = op.SpanID{1}
	late.Rank = op.Known(1)
	late.Links = []op.Link{{TraceID: op.TraceID{1}, SpanID: op.SpanID{2}}}
	tl.Add(late)
	for _, name := range []string{"first", "second"} {
		tl.Add(&op.Entry{Operation: name, Kind: op.KindCompute, Duration: 1500})
	}
	var b bytes.Buffer
	check.OK(t, tl.Write(&b))
	golden.Check(t, "testdata/timeline.json", b.Bytes())
}

func BenchmarkAddAndWrite(b *testing.B) {
	e := entry("matmul", "cuda:0", 0, 10)
	b.ReportAllocs()
	for b.Loop() {
		var tl chrome.Timeline
		for i := range int64(1000) {
			e.Start = op.Known(start + 20*i)
			tl.Add(e)
		}
		check.OK(b, tl.Write(io.Discard))
	}
}
