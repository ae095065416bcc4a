package spans

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// keep returns a record with a copy of an entry or else a span.
func keep(e *op.Entry, s *op.Span) op.Record {
	if e != nil {
		return op.Record{Entry: e.Clone()}
	}
	return op.Record{Span: s.Clone()}
}

// checkProtoSpans checks that readSpan, which has read the spans before, reads each span as parseSpan does.
func checkProtoSpans(t *testing.T, spans ...[]byte) {
	t.Helper()
	one, all := &attr.Mapping{}, &attr.Mapping{}
	one.Keep("other")
	all.KeepAll()
	for _, m := range []*attr.Mapping{one, all} {
		r := &Proto{Decoder: New(m)}
		for _, span := range spans {
			err := r.readSpan(slices.Clip(span))
			got := keep(r.end())
			parsed := &Proto{Decoder: New(m)}
			parsed.msg.reset(span)
			parsed.parseSpan(&parsed.msg)
			if want := parsed.msg.err; err != want {
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

// randomProtoValue returns an AnyValue.
func randomProtoValue(rng *rand.Rand, depth int) []byte {
	number := func() []byte {
		values := []uint64{0, 1, 7, 127, 128, 300, 1 << 14, 1 << 40, 1<<64 - 1, 1<<64 - 2}
		return protowire.AppendVarint(protowire.AppendTag(nil, fieldInt, protowire.VarintType), values[rng.IntN(len(values))])
	}
	switch n := rng.IntN(10); {
	case n < 3:
		texts := []string{"matmul", "relu", "f32", "cuda:1", "2x3", "7", "", "gr\u00f6\u00dfe", "bad\xff"}
		return protoField(fieldString, []byte(texts[rng.IntN(len(texts))]))
	case n < 5:
		return number()
	case n < 9 && depth < 3:
		var list []byte
		same := rng.IntN(4) > 0
		for range rng.IntN(5) {
			switch {
			case same && depth == 0:
				var dims []byte
				for range rng.IntN(4) {
					dims = append(dims, protoField(fieldValues, number())...)
				}
				list = append(list, protoField(fieldValues, protoField(fieldArray, dims))...)
			case same:
				list = append(list, protoField(fieldValues, number())...)
			default:
				list = append(list, protoField(fieldValues, randomProtoValue(rng, depth+1))...)
			}
		}
		return protoField(fieldArray, list)
	}
	switch rng.IntN(4) {
	case 0:
		return protowire.AppendFixed64(protowire.AppendTag(nil, fieldDouble, protowire.Fixed64Type), 0x4000000000000000)
	case 1:
		return protowire.AppendVarint(protowire.AppendTag(nil, fieldBool, protowire.VarintType), 1)
	case 2:
		return slices.Concat(protoField(fieldString, []byte("a")), number())
	}
	return nil
}

// randomProtoLink returns a field of a span that holds a link.
func randomProtoLink(rng *rand.Rand) []byte {
	fields := [][]byte{
		protoField(fieldLinkTraceID, bytes.Repeat([]byte{byte(rng.IntN(3))}, 16-rng.IntN(8)/7)),
		protoField(fieldLinkSpanID, bytes.Repeat([]byte{byte(rng.IntN(3))}, 8-rng.IntN(8)/7)),
	}
	for range rng.IntN(3) {
		key := []string{attrkey.LinkWeight, attrkey.LinkWeight, "other", ""}[rng.IntN(4)]
		fields = append(fields, protoField(fieldLinkAttributes,
			slices.Concat(protoField(fieldKey, []byte(key)), protoField(fieldValue, randomProtoValue(rng, 0)))))
	}
	if rng.IntN(4) == 0 {
		fields = append(fields, protoField(3, []byte("a=b")))
		rng.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	}
	return protoField(fieldSpanLinks, slices.Concat(fields...))
}

// randomProtoSpan returns a span whose fields are drawn from few, in some order.
func randomProtoSpan(rng *rand.Rand) (span []byte) {
	keys := []string{
		attrkey.Name, attrkey.DType, attrkey.Device, attrkey.InputShapes, attrkey.InputDTypes, attrkey.OutputShape, attrkey.Step,
		attrkey.Rank, attrkey.FLOPs, "op", "pytorch.flops", "other", "",
	}
	attribute := func() []byte {
		key, value := protoField(fieldKey, []byte(keys[rng.IntN(len(keys))])), protoField(fieldValue, randomProtoValue(rng, 0))
		switch rng.IntN(12) {
		case 0:
			return protoField(fieldSpanAttributes, key)
		case 1:
			return protoField(fieldSpanAttributes, slices.Concat(key, value, key))
		case 2, 3, 4, 5:
			return protoField(fieldSpanAttributes, slices.Concat(value, key))
		}
		return protoField(fieldSpanAttributes, slices.Concat(key, value))
	}
	fields := [][]byte{
		protoField(fieldSpanTraceID, bytes.Repeat([]byte{byte(rng.IntN(3))}, 16)),
		protoField(fieldSpanID, []byte{1, 2, 3, 4, 5, 6, 7, byte(rng.IntN(3))}),
		protoField(fieldSpanParentID, make([]byte, 8*rng.IntN(2))), protoField(fieldSpanName, []byte("name")),
		protowire.AppendVarint(protowire.AppendTag(nil, fieldSpanKind, protowire.VarintType), 1),
		protowire.AppendFixed64(protowire.AppendTag(nil, fieldSpanStart, protowire.Fixed64Type), 1760000000000000000),
		protowire.AppendFixed64(protowire.AppendTag(nil, fieldSpanEnd, protowire.Fixed64Type), 1760000000000000000+rng.Uint64N(2000)),
		protowire.AppendFixed32(protowire.AppendTag(nil, fieldSpanFlags, protowire.Fixed32Type), uint32(rng.IntN(4)<<8)),
	}
	for range rng.IntN(6) {
		fields = append(fields, attribute())
	}
	odd := [][]byte{
		protoField(fieldSpanStatus, nil), protoField(fieldSpanStatus, []byte{fieldStatusCode << 3, statusError}),
		protoField(fieldSpanEvents, bytes.Repeat([]byte("x"), rng.IntN(1<<15))), protoField(fieldSpanLinks, nil), protoField(99, nil),
		randomProtoLink(rng), randomProtoLink(rng), protowire.AppendVarint(protowire.AppendTag(nil, fieldDroppedLinks, protowire.VarintType), 3),
		protoField(fieldSpanTraceState, []byte("ot=th:8")),
		protoField(fieldSpanTraceID, []byte("short")), protoField(fieldSpanParentID, []byte("short")),
	}
	for rng.IntN(2) == 0 {
		fields = slices.Insert(fields, rng.IntN(len(fields)+1), odd[rng.IntN(len(odd))])
	}
	if rng.IntN(8) == 0 {
		rng.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	}
	span = append(slices.Concat(fields...), protoField(fieldSpanStatus, nil)...)
	if rng.IntN(10) == 0 {
		span = span[:1+rng.IntN(len(span))]
	}
	if rng.IntN(10) == 0 {
		span[rng.IntN(len(span))]++
	}
	return span
}

func TestCanonicalProtoSpanReadsAsParseSpan(t *testing.T) {
	for seed := range cases.Numbers(t, 600) {
		rng := rand.New(rand.NewPCG(seed, 8))
		spans := make([][]byte, 1+rng.IntN(6))
		for i := range spans {
			spans[i] = randomProtoSpan(rng)
		}
		checkProtoSpans(t, slices.Concat(spans, spans)...)
	}
}

// Keys are told apart by every one of their bytes, whichever was expected and wherever the
// value stands.
func TestCanonicalProtoKeysDifferInAnyByte(t *testing.T) {
	span := func(key []byte, valueFirst bool) []byte {
		parts := [][]byte{protoField(fieldKey, key), protoField(fieldValue, protoField(fieldString, []byte("value")))}
		if valueFirst {
			slices.Reverse(parts)
		}
		return protoField(fieldSpanAttributes, slices.Concat(parts...))
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

// Nothing behind a span is read, whatever lengths it holds.
func TestCanonicalProtoSpanStaysWithinItsBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for range cases.Count(t, 3, 50) {
		span := randomProtoSpan(rng)
		for n := range span {
			checkProtoSpans(t, slices.Clip(span[:n]))
		}
	}
}

func FuzzCanonicalProtoSpan(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 10))
	for range 20 {
		f.Add(randomProtoSpan(rng), randomProtoSpan(rng))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) { checkProtoSpans(t, a, b, a) })
}
