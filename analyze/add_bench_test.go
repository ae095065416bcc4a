package analyze

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/optrace/optrace/analyze/profile"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// draft is what a reader changes in its entry from one operation to the next.
type draft struct {
	operation, device string
	inner             int64 // a dimension
	start, duration   int64
	trace             op.TraceID
	span              op.SpanID
}

// drafts are those of a graph of 2000 operations with 40 names, which is run
// again and again on 8 devices.
func drafts() []draft {
	r := rand.New(rand.NewPCG(1, 2))
	names, devices := make([]string, 40), make([]string, 8)
	for i := range names {
		names[i] = fmt.Sprintf("operation_%d", i)
	}
	for i := range devices {
		devices[i] = fmt.Sprintf("cuda:%d", i)
	}
	all := make([]draft, 1<<14)
	for i := range all {
		d := &all[i]
		*d = all[i%2000]
		if i < 2000 {
			n := r.IntN(len(names))
			d.operation, d.inner = names[n], int64(n)
		}
		d.device = devices[r.IntN(len(devices))]
		d.start = 1_700_000_000_000_000_000 + int64(i)*1000
		d.duration = int64(math.Exp(r.NormFloat64()*1.5) * 50_000)
		binary.BigEndian.PutUint64(d.trace[:], uint64(i/100)*0x9e3779b97f4a7c15)
		binary.BigEndian.PutUint64(d.span[:], r.Uint64())
	}
	return all
}

// readerEntry is an entry that belongs to a reader, which writes every operation
// into the same memory.
type readerEntry struct {
	op.Entry
	inputs [2]op.Shape
	dims   [6]int64
}

func newReaderEntry() *readerEntry {
	r := &readerEntry{Entry: op.Entry{
		Kind: op.KindCompute, KindRule: op.RuleDefault, DType: op.F32,
		OutputElements: op.Known(64 * 256), MemoryBytes: op.Known(64 * 256 * 4),
	}}
	r.dims = [6]int64{64, 0, 0, 256, 64, 256}
	r.inputs = [2]op.Shape{r.dims[0:2], r.dims[2:4]}
	r.InputShapes, r.OutputShape = r.inputs[:], r.dims[4:6]
	return r
}

func (r *readerEntry) fill(d *draft) {
	r.Operation, r.DeviceID = d.operation, d.device
	r.dims[1], r.dims[2] = d.inner, d.inner
	r.Start, r.Duration = op.Known(d.start), d.duration
	r.TraceID, r.SpanID = d.trace, d.span
}

// BenchmarkAdd measures what reading pays per entry; "fill" is the part of it
// that is the benchmark's own.
func BenchmarkAdd(b *testing.B) {
	all, e := drafts(), newReaderEntry()
	run := func(name string, add func()) {
		b.Run(name, func(b *testing.B) {
			for i := range all {
				e.fill(&all[i])
				add()
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				e.fill(&all[i&(1<<14-1)])
				add()
			}
		})
	}
	run("fill", func() {})
	in, p := newCounter(), profile.New(profile.Options{})
	run("input", func() { in.add(op.Record{Entry: &e.Entry}, nil) })
	run("profile", func() { p.Add(&e.Entry) })
	forest := trace.New()
	run("trace", func() {
		if forest.Len() == 1<<20 { // what a trace needs at the start counts little
			forest = trace.New()
		}
		forest.Add(op.Record{Entry: &e.Entry})
	})
	c := newCollector(Options{SumsOnly: true})
	run("collector", func() { c.add(op.Record{Entry: &e.Entry}, nil) })
}
