package spans

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/otlptest"
	"github.com/optrace/optrace/internal/text/protobuf"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// keep returns a record with a copy of the entry, or else of the span.
func keep(e *op.Entry, s *op.Span) op.Record {
	if e != nil {
		return op.Record{Entry: e.Clone()}
	}
	return op.Record{Span: s.Clone()}
}

// checkProtoSpans checks that readSpan agrees with parseSpan on each span. The reader has read the spans before.
func checkProtoSpans(t *testing.T, spans ...[]byte) {
	t.Helper()
	one, all := &attr.Mapping{}, &attr.Mapping{}
	one.Keep("http.route")
	all.KeepAll()
	for _, m := range []*attr.Mapping{one, all} {
		r := &Proto{Decoder: New(m)}
		for _, span := range spans {
			err := r.readSpan(slices.Clip(span))
			got := keep(r.end())
			parsed := &Proto{Decoder: New(m)}
			parsed.msg.reset(span)
			parsed.parseSpan(&parsed.msg)
			if want := parsed.msg.Err; err != want {
				t.Fatalf("the error is %v, want %v\n%x", err, want, span)
			}
			if diff := cmp.Diff(keep(parsed.end()), got); diff != "" && err == nil {
				t.Fatalf("a span reads otherwise (-parsed +read)\n%s\n%x", diff, span)
			}
		}
	}
}

func protoField(num protowire.Number, body []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), body)
}

// randomProtoSpan returns a random span, perhaps shuffled, damaged or with odd fields.
func randomProtoSpan(t testing.TB, rng *rand.Rand) []byte {
	t.Helper()
	s := otlptest.RandomSpan(rng)
	span := check.Must(proto.Marshal(s))(t)
	if rng.IntN(2) == 0 {
		span = otlptest.ShuffleProto(rng, span, s.ProtoReflect().Descriptor())
	}
	key := protoField(protobuf.KeyValueKey, []byte(attrkey.Name))
	value := protoField(protobuf.KeyValueValue, protoField(protobuf.AnyString, []byte("bad\xff")))
	odd := [][]byte{
		protoField(protobuf.SpanStatus, nil), protoField(protobuf.SpanStatus, []byte{protobuf.StatusCode << 3,
			statusError}),
		protoField(protobuf.SpanEvents, bytes.Repeat([]byte("x"), rng.IntN(1<<15))), protoField(protobuf.SpanLinks,
			nil), protoField(99, nil),
		protoField(protobuf.SpanTraceID, []byte("short")), protoField(protobuf.SpanParentID, []byte("short")),
		protoField(protobuf.SpanLinks, protoField(protobuf.LinkSpanID, []byte("short"))),
		protoField(protobuf.SpanAttributes, key),
		protoField(protobuf.SpanAttributes, slices.Concat(key, value, key)), protoField(protobuf.SpanAttributes,
			slices.Concat(key, value)),
		protoField(protobuf.SpanAttributes, slices.Concat(key, value, []byte{7 << 3})),
		protoField(protobuf.SpanAttributes, slices.Concat(value, key, value)),
		protoField(protobuf.SpanAttributes,
			slices.Concat(key, protoField(protobuf.KeyValueValue, append(protoField(protobuf.AnyString, nil),
				protobuf.AnyInt<<3, 7)))),
	}
	for rng.IntN(2) == 0 {
		field := odd[rng.IntN(len(odd))]
		span = [][]byte{slices.Concat(span, field), slices.Concat(field, span)}[rng.IntN(2)]
	}
	if len(span) > 0 && rng.IntN(10) == 0 {
		span = span[:1+rng.IntN(len(span))]
	}
	if len(span) > 0 && rng.IntN(10) == 0 {
		span[rng.IntN(len(span))]++
	}
	return span
}

func TestCanonicalProtoSpanReadsAsParseSpan(t *testing.T) {
	for seed := range cases.Numbers(t, 600) {
		rng := rand.New(rand.NewPCG(seed, 8))
		spans := make([][]byte, 1+rng.IntN(6))
		for i := range spans {
			spans[i] = randomProtoSpan(t, rng)
		}
		checkProtoSpans(t, slices.Concat(spans, spans)...)
	}
}

// Keys differ in any byte, whatever key was expected and wherever the value is.
func TestCanonicalProtoKeysDifferInAnyByte(t *testing.T) {
	span := func(key []byte, valueFirst bool) []byte {
		parts := [][]byte{protoField(protobuf.KeyValueKey, key), protoField(protobuf.KeyValueValue,
			protoField(protobuf.AnyString, []byte("value")))}
		if valueFirst {
			slices.Reverse(parts)
		}
		return protoField(protobuf.SpanAttributes, slices.Concat(parts...))
	}
	for n := 1; n < 40; n++ {
		key := bytes.Repeat([]byte("k"), n)
		spans := [][]byte{span(key, true), span(key, false), span(key[1:], true), span(append(key, 'k'), false)}
		for i := range key {
			other := bytes.Clone(key)
			other[i] = 'x'
			spans = append(spans, span(key, i%2 == 0), span(other, true), span(key, i%3 == 0), span(other, false))
		}
		checkProtoSpans(t, spans...)
	}
}

// Whatever its lengths, a span reads no byte behind its end.
func TestCanonicalProtoSpanStaysWithinItsBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for range cases.Count(t, 3, 50) {
		span := randomProtoSpan(t, rng)
		for n := range span {
			checkProtoSpans(t, slices.Clip(span[:n]))
		}
	}
}

func FuzzCanonicalProtoSpan(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 10))
	for range 20 {
		f.Add(randomProtoSpan(f, rng), randomProtoSpan(f, rng))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) { checkProtoSpans(t, a, b, a) })
}
