package entries_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/optest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// Once names and shapes repeat, an entry costs no allocation: not to build, to
// write or to read it.
func TestEntriesDoNotAllocate(t *testing.T) {
	for _, enc := range encodings {
		b := attrmap.NewBuilder(nil)
		var buf []byte
		n := int64(0)
		once := func() {
			n++
			e := typicalSpan(b, n, enc.set)
			buf = e.AppendJSON(buf[:0])
		}
		once()
		check.Equal(t, fmt.Sprintf("%s: allocations per entry", enc.name), 0, testing.AllocsPerRun(100, once))
	}
}

func TestRichEntryDoesNotAllocate(t *testing.T) {
	e := optest.RichEntry()
	var buf []byte
	once := func() { buf = e.AppendJSON(buf[:0]) }
	once()
	// Some versions of encoding/json copy the attribute that is a list, to see that it is one.
	if got := testing.AllocsPerRun(100, once); got > 1 {
		t.Errorf("%g allocations per entry", got)
	}
}

func TestReaderDoesNotAllocate(t *testing.T) {
	const n = 1000
	line := append(optest.RichEntry().AppendJSON(nil), '\n')
	text := append(manyLines(n), bytes.Repeat(line, n)...)
	r := entries.NewReader(bytes.NewReader(bytes.Repeat(text, 12)), "test")
	// AllocsPerRun calls once more often than it counts.
	got := testing.AllocsPerRun(10, func() {
		for range 2 * n {
			check.Must(r.Next())(t)
		}
	})
	// The buffer of a Reader grows, and a header's service is interned, once.
	if got > 5 {
		t.Errorf("%g allocations per %d n", got, 2*n)
	}
}

// typicalSpan feeds b a typical span of six attributes whose input shapes come as set
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
	b.SetInts(b.Target(attrkey.OutputShape), outputDims)
	b.Int(attrkey.Step, n)
	e, _ := b.Entry()
	return e
}

var (
	leftDims, outputDims = []int64{64, 784}, []int64{64, 256}

	shapeTextList = []string{"64x784", "784x256"}
)

// encodings are the ways in which a span brings its input shapes.
var encodings = []struct {
	name string
	set  func(b *attrmap.Builder)
}{
	{"flat", func(b *attrmap.Builder) { b.SetInts(b.Target(attrkey.InputShapes), leftDims) }},
	{"nested", func(b *attrmap.Builder) {
		b.SetIntLists(b.Target(attrkey.InputShapes), []int64{64, 784, 784, 256}, []int{2, 4})
	}},
	{"strings", func(b *attrmap.Builder) { b.SetStrs(b.Target(attrkey.InputShapes), shapeTextList) }},
	{"JSON", func(b *attrmap.Builder) { b.Str(attrkey.InputShapes, "[[64,784],[784,256]]") }},
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
