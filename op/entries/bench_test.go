package entries_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/optest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// span feeds b a typical span of six attributes whose input shapes come as set
// says.
func typicalSpan(b *attrmap.Builder, n int64, inputShapes func(b *attrmap.Builder)) *op.Entry {
	b.Reset()
	b.SetName("matmul")
	b.SetIDs(optest.TraceID, optest.SpanID, optest.ParentID)
	b.SetTime(op.Known(1_700_000_000_000_000_000+n), 12_600)
	b.SetScope("example.com/engine")
	b.Str(attrkey.Name, "matmul")
	b.Str(attrkey.Device, "cuda:0")
	b.Str(attrkey.DType, "f32")
	inputShapes(b)
	b.Ints(attrkey.OutputShape, outputDims)
	b.Int(attrkey.Step, n)
	e, _ := b.Entry()
	return e
}

var (
	leftDims, rightDims, outputDims = []int64{64, 784}, []int64{784, 256}, []int64{64, 256}

	shapeTextList = []string{"64x784", "784x256"}
)

// encodings are the ways in which a span brings its input shapes.
var encodings = []struct {
	name string
	set  func(b *attrmap.Builder)
}{
	{"flat", func(b *attrmap.Builder) { b.Ints(attrkey.InputShapes, leftDims) }},
	{"nested", func(b *attrmap.Builder) {
		l := b.BeginList(attrkey.InputShapes)
		for _, dims := range [...][]int64{leftDims, rightDims} {
			l.Begin()
			for _, d := range dims {
				l.Int(d)
			}
			l.End()
		}
		l.End()
	}},
	{"strings", func(b *attrmap.Builder) { b.Strs(attrkey.InputShapes, shapeTextList) }},
	{"JSON", func(b *attrmap.Builder) { b.Str(attrkey.InputShapes, "[[64,784],[784,256]]") }},
}

func BenchmarkBuilder(b *testing.B) {
	for _, enc := range encodings {
		b.Run(enc.name, func(b *testing.B) {
			builder := attrmap.NewBuilder(nil)
			b.ReportAllocs()
			for i := int64(0); b.Loop(); i++ {
				typicalSpan(builder, i, enc.set)
			}
		})
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	e := typicalSpan(attrmap.NewBuilder(nil), 7, encodings[1].set)
	e.Service, e.Root, e.RootSpanID, e.Rank = "trainer", "POST /predict", optest.ParentID, op.Known(1)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = e.AppendJSON(buf[:0])
	}
	b.SetBytes(int64(len(buf)))
}

// manyLines returns a file of n entries of several names and devices.
func manyLines(n int) []byte {
	builder := attrmap.NewBuilder(nil)
	var buf bytes.Buffer
	w := entries.NewWriter(&buf, &op.Resource{Service: "trainer"})
	names := []string{"matmul", "relu", "softmax", "all_reduce", "layer_norm"}
	for i := range n {
		e := typicalSpan(builder, int64(i), encodings[i%len(encodings)].set)
		e.Operation = names[i%len(names)]
		e.DeviceID = fmt.Sprint("cuda:", i%4)
		e.Service, e.Root, e.RootSpanID = "trainer", "POST /predict", optest.ParentID
		e.SpanID[7] = byte(i)
		_ = w.Entry(e)
	}
	_ = w.Flush()
	return buf.Bytes()
}

func BenchmarkReader(b *testing.B) {
	const n = 20_000
	text := manyLines(n)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		read(b, entries.NewReader(bytes.NewReader(text), "bench"))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
}

func read(tb testing.TB, r *entries.Reader) {
	for {
		if _, err := r.Next(); err == io.EOF {
			return
		} else if err != nil {
			tb.Fatal(err)
		}
	}
}
