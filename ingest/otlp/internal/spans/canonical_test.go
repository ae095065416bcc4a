package spans

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/otlptest"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/protobuf"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// checkJSONSpans checks that canonicalSpan agrees with parseSpan on each text or leaves it to parseSpan. The reader has
// read the texts before. The result is the number of texts that canonicalSpan read.
func checkJSONSpans(t *testing.T, texts ...string) (read int) {
	t.Helper()
	one, all := &attr.Mapping{}, &attr.Mapping{}
	one.Keep("http.route")
	all.KeepAll()
	checkJSONSpansWith(t, all, texts...)
	return checkJSONSpansWith(t, one, texts...)
}

func checkJSONSpansWith(t *testing.T, m *attr.Mapping, texts ...string) (read int) {
	t.Helper()
	reader := func() *JSON { return NewJSON(New(m), new(lexer.Lexer)) }
	reset := func(r *JSON, text string) {
		r.msg.Reset([]byte(text))
		r.msg.OneLine(true)
	}
	r := reader()
	for _, text := range texts {
		reset(r, text)
		end := r.canonicalSpan([]byte(text), 0)
		if pos := r.msg.Pos(); pos != 0 {
			t.Fatalf("the lexer stands at %d\n%s", pos, text)
		}
		if end < 0 {
			continue
		}
		read++
		got := keep(r.end())
		parsed := reader()
		reset(parsed, text)
		parsed.ReadSpan()
		if err := parsed.msg.Err(); err != nil {
			t.Fatalf("a span with an error was read: %v\n%s", err, text)
		}
		if pos := parsed.msg.Pos(); pos != end {
			t.Fatalf("the span ends at %d, want %d\n%s", end, pos, text)
		}
		if diff := cmp.Diff(keep(parsed.end()), got); diff != "" {
			t.Fatalf("a span reads otherwise (-parsed +canonical)\n%s\n%s", diff, text)
		}
	}
	return read
}

// Members of spans, attributes and links in unusual forms or invalid.
var (
	oddMembers = []string{
		`"attributes":null`, `"status":{}`, `"status":{"code":2,"message":"out of memory"}`, `"traceState":"ot=th:8"`,
		`"new":[1]`, `"droppedAttributesCount":3`, `"startTimeUnixNano":1000`, `"endTimeUnixNano":"x"`,
		`"spanId":"zz"`, `"traceId":""`, `"parentSpanId":""`, `"name":"again"`, `"kind":1.5`, `"flags":-1`,
		`"kind":"SPAN_KIND_SERVER"`, `"events":[{"name":"e","attributes":[{}]}]`, `"links":[]`,
		`"attributes":[]`, `"droppedLinksCount":1`, `"links":null`, `"links":[{}]`,
		`"attributes":[{"key":"op","value":{"stringValue":"open"}},]`,
		`"attributes":[{"key":"op","value":{"stringValue":"again"}}]`,
	}
	oddAttributes = []string{
		`{"key":"tensor.rank","value":{"intValue":3}}`, `{"value":{"stringValue":"late"},"key":"tensor.module.path"}`,
		`{"key":"tensor.op.name","value":{"stringValue":"\u006datmul"}}`,
		`{"key":"tensor.op.name", "value":{"stringValue":"spaced"}}`,
		"{\"key\":\"tensor.op.name\",\"value\":{\"stringValue\":\"bad\xff\"}}", `{"key":"tensor.op.name"}`,
		`{"key":"tensor.input.shapes","value":{"arrayValue":{"values":[{"arrayValue":{"values":[{"intValue":"2"}]}},` +
			`{"stringValue":"4x5"}]}}}`,
		`{"key":"tensor.output.shape","value":{"arrayValue":{"values":[]}}}`,
		`{"key":"tensor.output.shape","value":{"arrayValue":{"values":[{"intValue":"2"},{"intValue":"03"}]}}}`,
		`{"key":"tensor.step","value":{"intValue":"9223372036854775808"}}`,
	}
	oddLinks = []string{
		`{"traceId":"0000000000000000000000000000000A","spanId":"000000000000000B","attributes":[]}`,
		`{"traceId":"00000000000000000000000000000001","spanId":"000000000000000b","attributes":[` +
			`{"key":"queue","value":{"stringValue":"fast"}},{"key":"n","value":{"intValue":"7"}},` +
			`{"key":"tensor.link.weight","value":{"intValue":"4"}}]}`,
		`{"traceId":"00000000000000000000000000000001","spanId":"000000000000000b","attributes":[` +
			`{"value":{"doubleValue":3},"key":"tensor.link.weight"}]}`,
		`{"traceId":"00000000000000000000000000000001","spanId":"000000000000000b","attributes":[{` +
			`"key":"tensor.link.weight"}],"traceState":"a"}`, `{"traceId":"zz","spanId":""}`,
		`{"spanId":"000000000000000b","traceId":"00000000000000000000000000000001"}`, `{}`,
		`{"traceId":null,"spanId":null,"attributes":null}`,
	}
)

// spanText returns a random span, some with odd parts, spaces, or without an end.
func spanText(t testing.TB, rng *rand.Rand) string {
	t.Helper()
	s := otlptest.RandomSpan(rng)
	s.TraceId = bytes.Repeat([]byte{byte(1 + rng.IntN(2))}, 16)
	s.SpanId = []byte{7: 9}
	text := string(otlptest.MarshalJSON(t, s))
	for _, odd := range []struct {
		texts       []string
		front, mark string
	}{
		{oddMembers, "", []string{`"spanId":`, `"name":`, `"attributes":`, `"status":`}[rng.IntN(4)]},
		{oddAttributes, `"attributes":[`, "{"}, {oddLinks, `"links":[`, "{"},
	} {
		if rng.IntN(3) == 0 {
			text = strings.Replace(text, odd.front+odd.mark, odd.front+odd.texts[rng.IntN(len(odd.texts))]+","+odd.mark,
				1)
		}
	}
	if rng.IntN(20) == 0 {
		text = strings.Replace(text, ",", ",\n ", 1)
	}
	if rng.IntN(40) == 0 {
		text = text[:rng.IntN(len(text))]
	}
	return text
}

func TestCanonicalJSONSpanReadsAsParseSpan(t *testing.T) {
	read := 0
	for seed := range cases.Numbers(t, 400) {
		rng := rand.New(rand.NewPCG(seed, 7))
		texts := make([]string, 1+rng.IntN(8))
		for i := range texts {
			texts[i] = spanText(t, rng) + ",{"
		}
		read += checkJSONSpans(t, slices.Concat(texts, texts)...)
	}
	if read == 0 || cases.All() && read < 400 {
		t.Errorf("only %d spans were read", read)
	}
}

// A remembered text matches only an unescaped text of the same end.
func TestCanonicalJSONTextsAreRemembered(t *testing.T) {
	var texts []string
	for _, name := range []string{
		"a", "aa", "a\\\\", "a\\\"b", "a", "", "a\\u0061", "a\x01", "\xff", "a\xff", "größe", strings.Repeat("a", 22),
		strings.Repeat("a", 23), strings.Repeat("a", 24), strings.Repeat("a", 22) + "\\\"",
	} {
		text := `{"traceId":"11111111111111111111111111111111","spanId":"1111111111111111","name":"a",` +
			`"attributes":[{"key":"tensor.op.name","value":{"stringValue":"` + name + `"}}],"status":{}}`
		texts = append(texts, text+`                        `, text, text)
	}
	if read := checkJSONSpans(t, slices.Concat(texts, texts)...); read < 60 {
		t.Errorf("%d spans were read", read)
	}
}

func FuzzCanonicalJSONSpan(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 9))
	for range 20 {
		f.Add(spanText(f, rng), spanText(f, rng))
	}
	f.Fuzz(func(t *testing.T, a, b string) { checkJSONSpans(t, a, b, a) })
}

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
		protoField(protobuf.SpanStatus, nil), protoField(protobuf.SpanStatus,
			[]byte{protobuf.StatusCode << 3, statusError}),
		protoField(protobuf.SpanEvents, bytes.Repeat([]byte("x"), rng.IntN(1<<15))),
		protoField(protobuf.SpanLinks, nil), protoField(99, nil),
		protoField(protobuf.SpanTraceID, []byte("short")), protoField(protobuf.SpanParentID, []byte("short")),
		protoField(protobuf.SpanLinks, protoField(protobuf.LinkSpanID, []byte("short"))),
		protoField(protobuf.SpanAttributes, key), protoField(protobuf.SpanAttributes,
			slices.Concat(key, value, key)), protoField(protobuf.SpanAttributes, slices.Concat(key, value)),
		protoField(protobuf.SpanAttributes, slices.Concat(key, value, []byte{7 << 3})),
		protoField(protobuf.SpanAttributes, slices.Concat(value, key, value)),
		protoField(protobuf.SpanAttributes, slices.Concat(key,
			protoField(protobuf.KeyValueValue, append(protoField(protobuf.AnyString, nil), protobuf.AnyInt<<3, 7)))),
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
