package otlp_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/optrace/optrace/ingest/otlp"
)

// benchTraces returns a batch of op spans as an engine records them.
func benchTraces(n int) ptrace.Traces {
	rng := rand.New(rand.NewPCG(1, 2))
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "trainer")
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	for i := range n {
		s := spans.AppendEmpty()
		s.SetTraceID([16]byte{1, 15: byte(i >> 8)})
		s.SetSpanID([8]byte{2, 6: byte(i >> 8), 7: byte(i)})
		s.SetParentSpanID([8]byte{3})
		s.SetName(fmt.Sprintf("op%d", rng.IntN(40)))
		s.SetStartTimestamp(pcommon.Timestamp(1795224124978150123 + int64(i)*1000))
		s.SetEndTimestamp(pcommon.Timestamp(1795224124978150123 + int64(i)*1000 + rng.Int64N(900)))
		a := s.Attributes()
		a.PutStr("tensor.op.name", s.Name())
		a.PutStr("tensor.device.id", fmt.Sprintf("cuda:%d", rng.IntN(8)))
		a.PutStr("tensor.dtype", "f32")
		inputs := a.PutEmptySlice("tensor.input.shapes")
		for range 2 {
			dims := inputs.AppendEmpty().SetEmptySlice()
			dims.AppendEmpty().SetInt(int64(32 << rng.IntN(5)))
			dims.AppendEmpty().SetInt(int64(32 << rng.IntN(5)))
		}
		out := a.PutEmptySlice("tensor.output.shape")
		out.AppendEmpty().SetInt(64)
		out.AppendEmpty().SetInt(int64(32 << rng.IntN(5)))
	}
	return td
}

const benchSpans, benchBatches = 512, 40

func benchmarkReader(b *testing.B, r reader, batch []byte) {
	input := bytes.Repeat(batch, benchBatches)
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for rec, err := range r(bytes.NewReader(input), "bench", nil) {
			if err != nil {
				b.Fatal(err)
			}
			if rec.Entry != nil {
				n++
			}
		}
		if n != benchSpans*benchBatches {
			b.Fatalf("%d operations", n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(benchSpans*benchBatches), "ns/span")
}

func BenchmarkJSON(b *testing.B) {
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(benchTraces(benchSpans))
	if err != nil {
		b.Fatal(err)
	}
	benchmarkReader(b, otlp.JSONRecords, append(text, '\n'))
}

func BenchmarkFrames(b *testing.B) {
	msg, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(benchTraces(benchSpans))
	if err != nil {
		b.Fatal(err)
	}
	benchmarkReader(b, otlp.FramedRecords, framed(msg))
}

func BenchmarkProto(b *testing.B) {
	msg, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(benchTraces(benchSpans))
	if err != nil {
		b.Fatal(err)
	}
	benchmarkReader(b, otlp.ProtoRecords, msg)
}

// The peers: the Collector's own types.
func BenchmarkPdataJSON(b *testing.B) {
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(benchTraces(benchSpans))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchSpans, "ns/span")
}

func BenchmarkPdataProto(b *testing.B) {
	msg, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(benchTraces(benchSpans))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(msg)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(msg); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchSpans, "ns/span")
}
