package otlp_test

import (
	"math"
	"math/rand/v2"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// randomKeys are the keys of random attributes: those that mean something, and
// others.
var randomKeys = []string{
	"tensor.op.name", "tensor.op.kind", "tensor.op.path", "tensor.step", "tensor.input.shapes", "tensor.input.dtypes",
	"tensor.output.shape", "tensor.dtype", "tensor.device.id", "tensor.stream.id", "tensor.memory.size",
	"tensor.collective.name", "tensor.collective.group.size", "tensor.rank", "tensor.input.0.shape",
	"pytorch.device.type", "pytorch.flops", "op", "output_shape", "http.route", "debug.stats", "",
}

var randomTexts = []string{
	"matmul", "all_reduce", "compute", "f32", "cuda:0", "2x3", "[[2,3],[3]]", "[2, 3]", "7", "", "größe", "a\"b\\\n\u2028", "\x00",
}

// randomTraces returns spans of every sort.
func randomTraces(rng *rand.Rand) ptrace.Traces {
	td := ptrace.NewTraces()
	for range rng.IntN(3) {
		rs := td.ResourceSpans().AppendEmpty()
		if rng.IntN(4) > 0 {
			a := rs.Resource().Attributes()
			a.PutStr("service.name", pick(rng, randomTexts))
			randomAttribute(rng, a.PutEmpty("tensor.rank"), 0)
			randomAttribute(rng, a.PutEmpty("extra"), 0)
		}
		for range rng.IntN(3) {
			ss := rs.ScopeSpans().AppendEmpty()
			if rng.IntN(4) > 0 {
				ss.Scope().SetName(pick(rng, randomTexts))
				ss.Scope().Attributes().PutStr("backend", "cpu")
			}
			for range rng.IntN(4) {
				randomSpan(rng, ss.Spans().AppendEmpty())
			}
		}
	}
	return td
}

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

func randomSpan(rng *rand.Rand, s ptrace.Span) {
	if rng.IntN(8) > 0 {
		s.SetTraceID([16]byte{byte(rng.IntN(256)), 15: 0xab})
		s.SetSpanID([8]byte{byte(rng.IntN(256)), 7: 0xcd})
	}
	if rng.IntN(2) == 0 {
		s.SetParentSpanID([8]byte{1, 2, 3, 4, 5, 6, 7, byte(rng.IntN(256))})
	}
	s.SetName(pick(rng, randomTexts))
	s.SetFlags(pick(rng, []uint32{0, 1, 0x101, 0x301}))
	s.TraceState().FromRaw(pick(rng, []string{"", "", "ot=th:8", "a=b,ot=th:c;rv:1", "ot=th:zz"}))
	start := pick(rng, []uint64{0, 1, 1795224124978150123, math.MaxInt64, math.MaxUint64})
	s.SetStartTimestamp(pcommon.Timestamp(start))
	s.SetEndTimestamp(pcommon.Timestamp(start + pick(rng, []uint64{0, 600, 1 << 40, math.MaxUint64 - 500})))
	s.SetDroppedAttributesCount(pick(rng, []uint32{0, 0, 3, math.MaxUint32}))
	for range rng.IntN(8) {
		randomAttribute(rng, s.Attributes().PutEmpty(pick(rng, randomKeys)), 0)
	}
	if rng.IntN(4) == 0 {
		s.Status().SetCode(pick(rng, []ptrace.StatusCode{ptrace.StatusCodeOk, ptrace.StatusCodeError}))
		s.Status().SetMessage(pick(rng, randomTexts))
	}
	if rng.IntN(4) == 0 {
		e := s.Events().AppendEmpty()
		e.SetName("launch")
		randomAttribute(rng, e.Attributes().PutEmpty("grid"), 0)
	}
	for range pick(rng, []int{0, 0, 1, 3}) {
		randomLink(rng, s.Links().AppendEmpty())
	}
	s.SetDroppedLinksCount(pick(rng, []uint32{0, 0, 0, 1}))
}

func randomLink(rng *rand.Rand, l ptrace.SpanLink) {
	if rng.IntN(8) > 0 {
		l.SetTraceID([16]byte{byte(rng.IntN(256)), 15: 0xab})
	}
	l.SetSpanID([8]byte{byte(rng.IntN(256)), 7: byte(rng.IntN(4))})
	if rng.IntN(3) == 0 {
		l.TraceState().FromRaw("a=b")
	}
	for range rng.IntN(3) {
		randomAttribute(rng, l.Attributes().PutEmpty(pick(rng, []string{"tensor.link.weight", "tensor.link.weight", "queue", ""})), 0)
	}
	l.SetFlags(pick(rng, []uint32{0, 0x101}))
}

// randomAttribute sets v to a value of any type. Numbers are often small, and
// lists often hold numbers, so that they mean something.
func randomAttribute(rng *rand.Rand, v pcommon.Value, depth int) {
	switch rng.IntN(12) {
	case 0, 1, 2:
		v.SetStr(pick(rng, randomTexts))
	case 3, 4:
		v.SetInt(pick(rng, []int64{0, 1, 7, -1, -2, 1 << 40, math.MaxInt64, math.MinInt64}))
	case 5:
		v.SetDouble(pick(rng, []float64{0, 2, 2.5, -1, 1e30, math.NaN(), math.Inf(1), math.Inf(-1)}))
	case 6:
		v.SetBool(rng.IntN(2) == 0)
	case 7:
		v.SetEmptyBytes().FromRaw([]byte{0, 1, byte(rng.IntN(256))})
	case 8, 9, 10:
		list := v.SetEmptySlice()
		for range rng.IntN(4) {
			if depth < 3 {
				randomAttribute(rng, list.AppendEmpty(), depth+1)
			} else {
				list.AppendEmpty().SetInt(int64(rng.IntN(5)))
			}
		}
	case 11:
		if depth < 3 {
			randomAttribute(rng, v.SetEmptyMap().PutEmpty("k"), depth+1)
		}
	}
}
