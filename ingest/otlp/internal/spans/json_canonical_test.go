package spans

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op/attr"
)

// checkJSONSpans checks that canonicalSpan, which has read the texts before, reads each
// text as parseSpan does, or leaves it to that. It returns how many canonicalSpan
// read.
func checkJSONSpans(t *testing.T, texts ...string) (read int) {
	t.Helper()
	one, all := &attr.Mapping{}, &attr.Mapping{}
	one.Keep("other")
	all.KeepAll()
	checkJSONSpansWith(t, all, texts...)
	return checkJSONSpansWith(t, one, texts...)
}

func checkJSONSpansWith(t *testing.T, m *attr.Mapping, texts ...string) (read int) {
	t.Helper()
	reader := func() *JSON { return NewJSON(New(m), new(jsontext.Lexer)) }
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

// attributeTexts are attributes that spans of the random documents have, some of
// which start like others or mean the same.
var attributeTexts = []string{
	`{"key":"tensor.op.name","value":{"stringValue":"matmul"}}`,
	`{"key":"tensor.op.name","value":{"stringValue":"relu"}}`,
	`{"key":"op","value":{"stringValue":"relu"}}`,
	`{"key":"tensor.dtype","value":{"stringValue":"f32"}}`,
	`{"key":"tensor.dtype","value":{"stringValue":"f3"}}`,
	`{"key":"tensor.device.id","value":{"stringValue":"cuda:1"}}`,
	`{"key":"tensor.device.id","value":{"intValue":"1"}}`,
	`{"key":"tensor.rank","value":{"intValue":"3"}}`,
	`{"key":"tensor.rank","value":{"intValue":3}}`,
	`{"key":"tensor.output.shape","value":{"arrayValue":{"values":[{"intValue":"2"},{"intValue":"3"}]}}}`,
	`{"key":"tensor.output.shape","value":{"arrayValue":{"values":[{"intValue":"2"},{"intValue":"30"}]}}}`,
	`{"key":"tensor.input.shapes","value":{"arrayValue":{"values":[{"arrayValue":{"values":[{"intValue":"2"}]}},` +
		`{"arrayValue":{"values":[]}}]}}}`,
	`{"key":"tensor.input.shapes","value":{"arrayValue":{"values":[{"arrayValue":{"values":[{"intValue":"2"}]}},{"stringValue":"4x5"}]}}}`,
	`{"key":"tensor.memory.bytes","value":{"doubleValue":12.5}}`,
	`{"value":{"stringValue":"late"},"key":"tensor.module.path"}`,
	`{"key":"other","value":{"kvlistValue":{"values":[{"key":"a","value":{"boolValue":true}}]}}}`,
	`{"key":"tensor.op.name","value":{"stringValue":"\u006datmul"}}`,
	`{"key":"tensor.op.name", "value":{"stringValue":"spaced"}}`,
	"{\"key\":\"tensor.op.name\",\"value\":{\"stringValue\":\"bad\xff\"}}",
	`{"key":"tensor.op.name"}`,
	`{"key":"tensor.input.dtypes","value":{"arrayValue":{"values":[{"stringValue":"f32"},{"stringValue":"f16"}]}}}`,
	`{"key":"tensor.output.shape","value":{"arrayValue":{"values":[]}}}`,
	`{"key":"tensor.output.shape","value":{"arrayValue":{"values":[{"intValue":"-1"},{"intValue":"-9223372036854775808"}]}}}`,
	`{"key":"tensor.output.shape","value":{"arrayValue":{"values":[{"intValue":"2"},{"intValue":"03"}]}}}`,
	`{"key":"tensor.input.shapes","value":{"arrayValue":{"values":[{"arrayValue":{"values":[{"intValue":"2"},{"intValue":"3"}]}},` +
		`{"arrayValue":{"values":[{"intValue":"3"}]}}]}}}`,
	`{"key":"tensor.step","value":{"intValue":"-7"}}`,
	`{"key":"tensor.step","value":{"intValue":"9223372036854775808"}}`,
	`{"key":"other","value":{"stringValue":"kept"}}`,
	`{"key":"other","value":{"arrayValue":{"values":[{"intValue":"1"}]}}}`,
	`{"key":"","value":{"stringValue":""}}`,
}

// linkTexts are links that spans of the random documents have.
var linkTexts = []string{
	`{"traceId":"0000000000000000000000000000000a","spanId":"000000000000000b"}`,
	`{"traceId":"0000000000000000000000000000000a","spanId":"000000000000000c","flags":257}`,
	`{"traceId":"0000000000000000000000000000000A","spanId":"000000000000000B","attributes":[]}`,
	`{"traceId":"00000000000000000000000000000001","spanId":"000000000000000b","attributes":[` +
		`{"key":"tensor.link.weight","value":{"intValue":"4"}}],"flags":257}`,
	`{"traceId":"00000000000000000000000000000001","spanId":"000000000000000b","attributes":[` +
		`{"key":"queue","value":{"stringValue":"fast"}},{"key":"n","value":{"intValue":"7"}},` +
		`{"key":"tensor.link.weight","value":{"intValue":"4"}}]}`,
	`{"traceId":"00000000000000000000000000000001","spanId":"000000000000000b","attributes":[` +
		`{"key":"tensor.link.weight","value":{"intValue":"-4"}}]}`,
	`{"traceId":"00000000000000000000000000000001","spanId":"000000000000000b","attributes":[` +
		`{"key":"tensor.link.weight","value":{"stringValue":"4"}}]}`,
	`{"traceId":"00000000000000000000000000000001","spanId":"000000000000000b","attributes":[` +
		`{"value":{"doubleValue":3},"key":"tensor.link.weight"}]}`,
	`{"traceId":"00000000000000000000000000000001","spanId":"000000000000000b","attributes":[` +
		`{"key":"tensor.link.weight","value":{"boolValue":true}},{"key":"tensor.link.weight"}],"traceState":"a=b"}`,
	`{"traceId":"zz","spanId":""}`, `{"spanId":"000000000000000b","traceId":"00000000000000000000000000000001"}`, `{}`,
	`{"traceId":"00000000000000000000000000000000","spanId":"000000000000000b"}`, `{"traceId":null,"spanId":null,"attributes":null}`,
}

// spanText returns a span of a few members in some order.
func spanText(rng *rand.Rand) string {
	attributes := func() string {
		var list []string
		for range rng.IntN(4) {
			list = append(list, attributeTexts[rng.IntN(len(attributeTexts))])
		}
		return `"attributes":[` + strings.Join(list, ",") + `]`
	}
	links := func() string {
		var list []string
		for range rng.IntN(4) {
			list = append(list, linkTexts[rng.IntN(len(linkTexts))])
		}
		return `"links":[` + strings.Join(list, ",") + `]`
	}
	members := []string{
		fmt.Sprintf(`"traceId":"%032x"`, 1+rng.IntN(2)), fmt.Sprintf(`"spanId":"%016x"`, rng.Uint64()),
		fmt.Sprintf(`"parentSpanId":"%016x"`, rng.IntN(2)), fmt.Sprintf(`"flags":%d`, 1+256*rng.IntN(4)),
		fmt.Sprintf(`"name":"span%d"`, rng.IntN(2)), `"kind":1`,
		fmt.Sprintf(`"startTimeUnixNano":"%d"`, 1_760_000_000_000_000_000+rng.Int64N(1000)),
		fmt.Sprintf(`"endTimeUnixNano":"%d"`, 1_760_000_000_000_000_500+rng.Int64N(1000)), attributes(), `"status":{}`,
	}
	odd := []string{
		attributes(), `"attributes":null`, `"status":{"code":2,"message":"out of memory"}`, `"traceState":"ot=th:8"`, `"new":[1]`,
		`"droppedAttributesCount":3`, `"startTimeUnixNano":1000`, `"endTimeUnixNano":"x"`, `"spanId":"zz"`, `"traceId":""`, `"parentSpanId":""`,
		`"name":"again"`, `"kind":1.5`, `"flags":-1`, `"kind":"SPAN_KIND_SERVER"`, `"events":[{"name":"e","attributes":[{}]}]`, `"links":[]`,
		links(), links(), links(), `"droppedLinksCount":1`, `"links":null`, `"links":[{}]`,
		`"attributes":[{"key":"op","value":{"stringValue":"open"}},]`,
	}
	for rng.IntN(3) == 0 {
		members = slices.Insert(members, rng.IntN(len(members)+1), odd[rng.IntN(len(odd))])
	}
	if rng.IntN(8) == 0 {
		rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	text := "{" + strings.Join(members, ",") + "}"
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
			texts[i] = spanText(rng) + ",{"
		}
		read += checkJSONSpans(t, slices.Concat(texts, texts)...)
	}
	if read == 0 || cases.All() && read < 400 {
		t.Errorf("only %d spans were read", read)
	}
}

// A text is the one read before where it is written without escapes and ends there.
func TestCanonicalJSONTextsAreRemembered(t *testing.T) {
	var texts []string
	for _, name := range []string{
		"a", "aa", "a\\\\", "a\\\"b", "a", "", "a\\u0061", "a\x01", "\xff", "a\xff", "größe", strings.Repeat("a", 22), strings.Repeat("a", 23),
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
		f.Add(spanText(rng), spanText(rng))
	}
	f.Fuzz(func(t *testing.T, a, b string) { checkJSONSpans(t, a, b, a) })
}
