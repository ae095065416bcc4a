package otlp_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/otlptest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

// batch returns a document with one span, an operation of the name.
func batch(name string) string {
	return fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{`+
		`"stringValue":"svc"}}]},"scopeSpans":[{"scope":{"name":"lib"},"spans":[%s]}]}]}`, spanOf(name))
}

// spanOf returns the span of an operation.
func spanOf(name string) string {
	return fmt.Sprintf(`{"traceId":"4d02081d276cbb954beb68be77c6566e","spanId":"ca979163b1fe8ba7","name":"op",`+
		`"startTimeUnixNano":"1000","endTimeUnixNano":"1600","attributes":[{"key":"tensor.op.name","value":{`+
		`"stringValue":%q}}]}`, name)
}

// withAttribute returns a document with an operation that has one more attribute.
func withAttribute(key, value string) string {
	return strings.Replace(batch("op"), `"attributes":[{"key":"tensor.op.name"`,
		fmt.Sprintf(`"attributes":[{"key":%q,"value":%s},{"key":"tensor.op.name"`, key, value), 1)
}

func TestJSON(t *testing.T) { recordtest.Cases(t, otlp.JSONRecords) }

// A file truncated under its writer begins with zeros.
func TestZerosInFrontOfDocuments(t *testing.T) {
	zeros := strings.Repeat("\x00", 300_000)
	want := read(otlp.JSONRecords, []byte(batch("matmul")+"\n"+batch("matmul")))
	want.Bad = []string{"input:1: zero bytes passed over: 300000 (at byte 0)",
		"input:2: zero bytes passed over: 300000 (at byte 300365)",
		"input:3: zero bytes passed over: 1 (at byte 600730)"}
	got := read(otlp.JSONRecords, []byte(zeros+batch("matmul")+"\n"+zeros+batch("matmul")+"\n\x00"))
	check.Equal(t, "records", want, got)
}

// Text in invalid UTF-8 marks its operation, in each encoding.
func TestInvalidUTF8(t *testing.T) {
	document := []byte(withAttribute("tensor.op.path", "{\"stringValue\":\"a\x7fb\"}")) // libraries refuse 0xff
	message := check.Must(proto.Marshal(otlptest.TracesJSON(t, document)))(t)
	for _, test := range []struct {
		read reader
		text []byte
	}{{otlp.JSONRecords, document}, {otlp.ProtoRecords, message}} {
		res := read(test.read, bytes.ReplaceAll(test.text, []byte("a\x7fb"), []byte("a\xffb")))
		if len(res.Records) != 2 || len(res.Bad) != 0 || !strings.Contains(res.Records[1],
			"\"path\":\"a\ufffdb\",\"warn\":[\"invalid_utf8\"]") {
			t.Errorf("result = %+v", res)
		}
	}
}

// A bad line costs only the line.
func TestJSONManyBadLines(t *testing.T) {
	const n = 200_000
	text := batch("a") + "\n" + batch("b") + "\n" + strings.Repeat("bad\n", n) + batch("c") + "\n"
	res := read(otlp.JSONRecords, []byte(text))
	if len(res.names()) != 3 {
		t.Fatalf("operations %q", res.names())
	}
	var lines int64
	for _, err := range otlp.JSONRecords(strings.NewReader(text), "input", nil) {
		var bad *op.SyntaxError
		if !errors.As(err, &bad) {
			continue
		}
		if want := lines + 3; bad.Line != want {
			t.Fatalf("after %d lines: %v, want line %d", lines, bad, want)
		}
		lines += bad.Count()
	}
	check.Equal(t, "bad lines", n, lines)
}

func TestJSONNestedDeep(t *testing.T) {
	res := read(otlp.JSONRecords, []byte(`{"x":`+strings.Repeat("[", 1_000_000)+"\n"+batch("b")+"\n"))
	check.Equal(t, "operations", []string{"b"}, res.names())
	if len(res.Bad) != 1 || !strings.Contains(res.Bad[0], "nested deeper") {
		t.Errorf("bad = %q", res.Bad)
	}
}

// The resource is unknown behind damage that may hide another resource.
func TestJSONResourceBehindDamage(t *testing.T) {
	first, second := strings.TrimSuffix(batch("a"), `]}]}]}`), strings.TrimPrefix(batch("b"), `{"resourceSpans":[`)
	res := read(otlp.JSONRecords, []byte(first+`,{"name":"x]}]},`+second+"\n"+batch("c")))
	services := make(map[string]bool)
	for i, name := range res.names() {
		entries := slices.DeleteFunc(slices.Clone(res.Records),
			func(r string) bool { return !strings.Contains(r, `"operation"`) })
		services[name] = strings.Contains(entries[i], `"service":"svc"`)
	}
	check.Equal(t, "operations with the service", map[string]bool{"a": true, "b": false, "c": true}, services)
	check.Equal(t, "errors", 1, len(res.Bad))
}
