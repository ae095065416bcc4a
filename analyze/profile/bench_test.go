package profile

import (
	"fmt"
	"testing"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
)

// benchEntries are those of a graph of 40 operations on 8 devices that is run
// again and again.
func benchEntries() []op.Entry {
	entries := make([]op.Entry, 4096)
	names, devices := make([]string, 40), make([]string, 8)
	for i := range names {
		names[i] = fmt.Sprintf("operation_%d", i)
	}
	for i := range devices {
		devices[i] = fmt.Sprintf("cuda:%d", i)
	}
	for i := range entries {
		name := i * 7 % len(names)
		entries[i] = op.Entry{
			Operation: names[name], DeviceID: devices[i*5%len(devices)], Kind: op.KindCompute,
			InputShapes: []op.Shape{{64, int64(name)}, {int64(name), 256}}, OutputShape: op.Shape{64, 256},
			DType: op.F32, Start: op.Known(int64(i) * 1000), Duration: int64(1000 + i*7919%100000),
			OutputElements: op.Known(64 * 256), MemoryBytes: op.Known(64 * 256 * 4),
			Step:    op.Known(int64(i / 100)),
			TraceID: op.TraceID{1, byte(i)}, SpanID: op.SpanID{byte(i >> 8), byte(i), 1},
		}
	}
	return entries
}

func BenchmarkProfileAdd(b *testing.B) {
	for _, by := range []string{"", "device", "operation,shape", "trace"} {
		b.Run("by="+by, func(b *testing.B) {
			opts := Options{}
			opts.By, _ = key.Parse(by)
			entries := benchEntries()
			p := New(opts)
			for i := range entries {
				p.Add(&entries[i])
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p.Add(&entries[i%len(entries)])
			}
		})
	}
}

// A name that was never seen before, beyond the limit of the table.
func BenchmarkProfileAddNewNames(b *testing.B) {
	names := make([]string, 1<<20)
	for i := range names {
		names[i] = fmt.Sprintf("operation_%d", i)
	}
	p := New(Options{})
	e := op.Entry{DeviceID: "cuda:0", Kind: op.KindCompute, OutputShape: op.Shape{64, 256}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		e.Operation, e.Duration = names[i%len(names)], int64(i%10_000)
		p.Add(&e)
	}
}

func BenchmarkNewReport(b *testing.B) {
	for _, names := range []int{40, 10_000} {
		b.Run(fmt.Sprintf("operations=%d", names), func(b *testing.B) {
			p := New(Options{})
			for i := range 20 * names {
				p.Add(&op.Entry{Operation: fmt.Sprintf("operation_%d", i%names), DeviceID: "cuda:0", Duration: int64(i)})
			}
			b.ReportAllocs()
			for b.Loop() {
				p.Sums()
			}
		})
	}
}
