package analyze

import (
	"encoding/binary"
	"fmt"
	"io"
	"testing"

	"github.com/optrace/optrace/op"
)

// requestOps is how many operations a request of addRequests holds.
const requestOps = 100

// addRequests adds at least n operations in requests: a span with layers of
// nested operations on two devices.
func addRequests(forest *Forest, n int) {
	names := [...]string{"matmul", "relu", "softmax", "all_reduce", "Memcpy HtoD"}
	kinds := [...]op.Kind{op.KindCompute, op.KindCompute, op.KindCompute, op.KindCollective, op.KindMemory}
	devices := [...]string{"cuda:0", "cuda:1"}
	e := op.Entry{MemoryBytes: op.Known(4096)}
	s := op.Span{Name: "POST /predict", Service: "inference"}
	at := int64(1_700_000_000_000_000_000)
	id := uint64(1)
	for request := 0; request*requestOps < n; request++ {
		binary.BigEndian.PutUint64(e.TraceID[:], uint64(request+1))
		root := spanID(id * 0x9e3779b97f4a7c15) // spread over all values, as ids are
		s.TraceID, s.SpanID, s.Start = e.TraceID, root, op.Known(at)
		e.Step = op.Known(int64(request))
		parent := root
		for i := range requestOps {
			id++
			e.Operation, e.Kind, e.DeviceID = names[i%5], kinds[i%5], devices[i/10%2]
			e.SpanID = spanID(id * 0x9e3779b97f4a7c15)
			e.ParentSpanID = parent
			e.Start, e.Duration = op.Known(at+int64(i)*1000), 900
			if i%5 == 0 { // an operation with four children
				e.Duration = 4900
				parent = e.SpanID
			} else if i%5 == 4 {
				parent = root
			}
			forest.Add(op.Record{Entry: &e})
		}
		s.Duration = requestOps * 1000
		forest.addSpan(&s)
		at += 120_000
		id++
	}
}

func BenchmarkForest(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("add/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				addRequests(NewForest(), n)
			}
			perEntry(b, n)
		})
		b.Run(fmt.Sprintf("build/%d", n), func(b *testing.B) {
			forest := NewForest()
			addRequests(forest, n)
			b.ReportAllocs()
			for b.Loop() {
				forest.built.Store(false)
				forest.build()
			}
			perEntry(b, n)
		})
		forest := NewForest()
		addRequests(forest, n)
		forest.build()
		for _, analysis := range []struct {
			name string
			run  func()
		}{
			{"self", func() { forest.operationSelfTimes() }},
			{"timelines", func() { forest.timelines() }},
			{"idle", func() { forest.idle(idleOptions{}) }},
			{"concurrency", func() { forest.concurrency() }},
			{"memory", func() { forest.memoryUse(100) }},
			{"steps", func() { forest.stepRows() }},
			{"critical", func() { forest.criticalPathSummary() }},
			{"requests", func() { forest.Requests() }},
			{"collapsed", func() { _ = forest.WriteCollapsed(io.Discard) }},
		} {
			b.Run(fmt.Sprintf("%s/%d", analysis.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					analysis.run()
				}
				perEntry(b, n)
			})
		}
	}
}

func perEntry(b *testing.B, entries int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(entries), "ns/entry")
}
