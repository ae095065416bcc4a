package spans

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/otlptest"
	"github.com/optrace/optrace/internal/text/lexer"
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
		`"new":[1]`,
		`"droppedAttributesCount":3`, `"startTimeUnixNano":1000`, `"endTimeUnixNano":"x"`, `"spanId":"zz"`,
		`"traceId":""`, `"parentSpanId":""`,
		`"name":"again"`, `"kind":1.5`, `"flags":-1`, `"kind":"SPAN_KIND_SERVER"`,
		`"events":[{"name":"e","attributes":[{}]}]`, `"links":[]`,
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
			`"key":"tensor.link.weight"}],"traceState":"a"}`,
		`{"traceId":"zz","spanId":""}`, `{"spanId":"000000000000000b","traceId":"00000000000000000000000000000001"}`,
		`{}`,
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
		strings.Repeat("a", 23),
		strings.Repeat("a", 24), strings.Repeat("a", 22) + "\\\"",
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
