package entries_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/optest"
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

func TestTorchDeviceDoesNotAllocate(t *testing.T) {
	b := attrmap.NewBuilder(nil)
	once := func() {
		b.Reset()
		b.SetName("aten::mm")
		b.Str("pytorch.device.type", "cuda")
		b.Int("pytorch.device.index", 1)
		b.SetTraceState("ot=th:8")
		if e, _ := b.Entry(); e.DeviceID != "cuda:1" || e.AdjustedCount != 2 {
			t.Errorf("entry %+v", e)
		}
	}
	once()
	check.Equal(t, "allocations per entry", 0, testing.AllocsPerRun(100, once))
}
