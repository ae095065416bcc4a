package otlp_test

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest/internal/recordtest"
	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/op"
)

// familiarReaders make readers that keep what they learn.
var familiarReaders = map[string]func() func(text []byte) iter.Seq2[op.Record, error]{
	"json": func() func(text []byte) iter.Seq2[op.Record, error] {
		r := otlp.NewJSONReader(nil)
		return func(text []byte) iter.Seq2[op.Record, error] {
			return r.Records(bytes.NewReader(text), "familiar", op.Position{}, false)
		}
	},
	"frames": func() func(text []byte) iter.Seq2[op.Record, error] {
		r := otlp.NewFrameReader(nil)
		return func(text []byte) iter.Seq2[op.Record, error] {
			return r.Records(bytes.NewReader(text), "familiar", op.Position{})
		}
	},
}

// checkFamiliar checks that a reader that has read a a few times reads b as one
// that has read nothing.
func checkFamiliar(t *testing.T, kind string, a, b []byte) {
	t.Helper()
	newReader := familiarReaders[kind]
	want := recordtest.Transcript(t, newReader()(b))
	read := newReader()
	for range 3 {
		for range read(a) {
		}
	}
	if diff := cmp.Diff(want, recordtest.Transcript(t, read(b))); diff != "" {
		t.Fatalf("%s: a familiar reader reads otherwise (-fresh +familiar)\n%s\nafter:\n%.2000s\n\nread:\n%.2000s", kind, diff, a, b)
	}
}

func TestFamiliarReadersOfSamples(t *testing.T) {
	for kind, pattern := range map[string]string{"json": "testdata/*/*.jsonl", "frames": "testdata/*/*.{pb,pb.zst,jsonl.zst}"} {
		before, set, _ := strings.Cut(pattern, "{")
		files := []string{}
		for ext := range strings.SplitSeq(strings.TrimSuffix(set, "}"), ",") {
			found, err := filepath.Glob(before + ext)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, found...)
		}
		if len(files) == 0 {
			t.Fatalf("no samples for %s", pattern)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			checkFamiliar(t, kind, text, text)
		}
	}
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
	`{"key":"tensor.input.shapes","value":{"arrayValue":{"values":[{"arrayValue":{"values":[{"intValue":"2"}]}},{"arrayValue":{"values":[]}}]}}}`,
	`{"key":"tensor.input.shapes","value":{"arrayValue":{"values":[{"arrayValue":{"values":[{"intValue":"2"}]}},{"stringValue":"4x5"}]}}}`,
	`{"key":"tensor.memory.bytes","value":{"doubleValue":12.5}}`,
	`{"value":{"stringValue":"late"},"key":"tensor.module.path"}`,
	`{"key":"other","value":{"kvlistValue":{"values":[{"key":"a","value":{"boolValue":true}}]}}}`,
	`{"key":"tensor.op.name","value":{"stringValue":"\u006datmul"}}`,
	`{"key":"tensor.op.name", "value":{"stringValue":"spaced"}}`,
	"{\"key\":\"tensor.op.name\",\"value\":{\"stringValue\":\"bad\xff\"}}",
	`{"key":"tensor.op.name"}`,
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
	members := []string{
		fmt.Sprintf(`"traceId":"%032x"`, 1+rng.IntN(2)), fmt.Sprintf(`"spanId":"%016x"`, rng.Uint64()),
		fmt.Sprintf(`"parentSpanId":"%016x"`, rng.IntN(2)), fmt.Sprintf(`"flags":%d`, 1+256*rng.IntN(4)),
		fmt.Sprintf(`"name":"span%d"`, rng.IntN(2)), `"kind":1`,
		fmt.Sprintf(`"startTimeUnixNano":"%d"`, 1_760_000_000_000_000_000+rng.IntN(1000)),
		fmt.Sprintf(`"endTimeUnixNano":"%d"`, 1_760_000_000_000_000_500+rng.IntN(1000)), attributes(), `"status":{}`,
	}
	odd := []string{
		attributes(), `"attributes":null`, `"status":{"code":2,"message":"out of memory"}`, `"traceState":"ot=th:8"`, `"new":[1]`,
		`"droppedAttributesCount":3`, `"startTimeUnixNano":1000`, `"endTimeUnixNano":"x"`, `"spanId":"zz"`, `"traceId":""`, `"parentSpanId":""`,
		`"name":"again"`,
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

// documentsOf returns documents whose spans are drawn from few.
func documentsOf(rng *rand.Rand, spans []string) []byte {
	var b strings.Builder
	for range 1 + rng.IntN(3) {
		var list []string
		for range 1 + rng.IntN(12) {
			list = append(list, spans[rng.IntN(len(spans))])
		}
		b.WriteString(`{"resourceSpans":[{"scopeSpans":[{"spans":[` + strings.Join(list, ",") + "]}]}]}\n")
	}
	return []byte(b.String())
}

func TestFamiliarJSONReaderOfRandomSpans(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 7))
		spans := make([]string, 1+rng.IntN(8))
		for i := range spans {
			spans[i] = spanText(rng)
		}
		a := documentsOf(rng, spans)
		spans = append(spans, spanText(rng), spanText(rng))
		checkFamiliar(t, "json", a, documentsOf(rng, spans))
	}
}

// Parts of spans that other spans start with, or go on behind.
func TestFamiliarFrameReaderOfRandomSpans(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 8))
		a, b := framed(messageOf(rng, 6)), framed(messageOf(rng, 8))
		checkFamiliar(t, "frames", a, b)
		checkFamiliar(t, "frames", a, slices.Concat(a, b, a))
	}
}

// messageOf returns a message with spans whose fields are drawn from few, in
// some order.
func messageOf(rng *rand.Rand, n int) []byte {
	var spans []byte
	for range n {
		var span []byte
		attribute := func() {
			key := []string{"tensor.op.name", "tensor.dtype", "other"}[rng.IntN(3)]
			value := []string{"matmul", "relu", "f32"}[rng.IntN(3)]
			span = append(span, field(9, slices.Concat(field(1, []byte(key)), field(2, field(1, []byte(value)))))...)
		}
		span = append(span, field(1, bytes.Repeat([]byte{1}, 16))...)
		span = append(span, field(2, []byte{1, 2, 3, 4, 5, 6, 7, byte(rng.IntN(256))})...)
		for range rng.IntN(4) {
			attribute()
		}
		switch rng.IntN(3) {
		case 0:
			span = append(span, field(5, []byte("name"))...)
		case 1:
			span = append(span, field(15, nil)...)
		}
		if rng.IntN(3) == 0 {
			attribute()
		}
		spans = append(spans, field(2, span)...)
	}
	return field(1, field(2, spans))
}

func FuzzFamiliarJSON(f *testing.F) {
	f.Add([]byte(batch("matmul")), []byte(batch("relu")))
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 9))
		spans := []string{spanText(rng), spanText(rng), spanText(rng)}
		f.Add(documentsOf(rng, spans), documentsOf(rng, spans))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) { checkFamiliar(t, "json", a, b) })
}

func FuzzFamiliarFrames(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 10))
	f.Add(framed(messageOf(rng, 4)), framed(messageOf(rng, 4)))
	f.Add(framed([]byte(batch("matmul"))), framed([]byte(batch("relu"))))
	f.Fuzz(func(t *testing.T, a, b []byte) { checkFamiliar(t, "frames", a, b) })
}
