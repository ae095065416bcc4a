package entries_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// Once names and shapes repeat, building, writing and reading an entry do not allocate.
func TestEntriesDoNotAllocate(t *testing.T) {
	b := attrmap.NewBuilder(nil)
	inputs := b.Target(attrkey.InputShapes)
	texts := []string{"64x784", "784x256"}
	left := []int64{64, 784}
	both := []int64{64, 784, 784, 256}
	ends := []int{2, 4}
	output := []int64{64, 256}
	for name, set := range map[string]func(){
		"flat":    func() { b.SetInts(inputs, left) },
		"nested":  func() { b.SetIntLists(inputs, both, ends) },
		"strings": func() { b.SetStrs(inputs, texts) },
		"JSON":    func() { b.SetStr(inputs, "[[64,784],[784,256]]") },
	} {
		var buf []byte
		n := int64(0)
		once := func() {
			n++
			b.Reset()
			b.SetName("matmul")
			b.SetIDs(optest.TraceID, optest.SpanID, optest.ParentID)
			b.SetTime(op.Known(1_700_000_000_000_000_000+n), 12_600)
			b.SetScope("example.com/engine")
			b.Str(attrkey.Name, "matmul")
			b.Str(attrkey.Device, "cuda:0")
			b.Str(attrkey.DType, "f32")
			set()
			b.SetInts(b.Target(attrkey.OutputShape), output)
			b.Int(attrkey.Step, n)
			e, _ := b.Entry()
			buf = e.AppendJSON(buf[:0])
		}
		once()
		check.Equal(t, name+": allocations per entry", 0, testing.AllocsPerRun(100, once))
	}
}

func TestRichEntryDoesNotAllocate(t *testing.T) {
	e := optest.RichEntry()
	var buf []byte
	once := func() { buf = e.AppendJSON(buf[:0]) }
	once()
	// Some versions of encoding/json copy a list attribute to validate it.
	if got := testing.AllocsPerRun(100, once); got > 1 {
		t.Errorf("%g allocations per entry", got)
	}
}

// The lines are of several names and devices.
func TestReaderDoesNotAllocate(t *testing.T) {
	const n = 1000
	text := op.AppendHeader(nil, &op.Resource{Service: "trainer"})
	rich := optest.RichEntry().AppendJSON(nil)
	for i := range n {
		line := bytes.Replace([]byte(fullLine), []byte("matmul"), fmt.Append(nil, "matmul_", i%5), 1)
		line = bytes.Replace(line, []byte("cuda:0"), fmt.Append(nil, "cuda:", i%4), 1)
		text = append(append(append(append(text, '\n'), line...), '\n'), rich...)
	}
	r := entries.NewReader(bytes.NewReader(bytes.Repeat(append(text, '\n'), 12)), "test")
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
