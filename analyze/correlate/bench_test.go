package correlate_test

import (
	"encoding/binary"
	"testing"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/op"
)

// A thousand requests of a hundred operations, of which the backend holds the
// tenth part.
func BenchmarkReport(b *testing.B) {
	const requests, operations = 1000, 100
	names := []string{"matmul", "add", "relu", "softmax"}
	fill := func(j *correlate.Join) {
		for i := range requests {
			var id op.TraceID
			binary.BigEndian.PutUint64(id[8:], uint64(i+1))
			start := int64(i) * 1_000_000
			request := op.Record{Span: &op.Span{Name: "POST /predict", TraceID: id, SpanID: op.SpanID{1}, Start: op.Known(start),
				Duration: 1_000_000}}
			j.AddLocal(request)
			j.AddService(request)
			for k := range int64(operations) {
				e := op.Record{Entry: &op.Entry{
					Operation: names[k%4], Kind: op.KindCompute, DeviceID: "cuda:0", TraceID: id, SpanID: op.SpanID{0: 2,
						7: byte(k)}, ParentSpanID: op.SpanID{1},
					Start: op.Known(start + 9000*k), Duration: 8000 + k,
				}}
				j.AddLocal(e)
				if k%10 == 0 {
					j.AddService(e)
				}
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		j := correlate.NewJoin()
		fill(j)
		if r := j.Report(correlate.Options{Jaeger: address}); len(r.Requests) != requests {
			b.Fatal(len(r.Requests))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(requests*operations), "ns/op(operation)")
}
