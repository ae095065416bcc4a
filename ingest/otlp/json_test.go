package otlp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/otlptest"
	"github.com/optrace/optrace/op"
)

// batch returns a document with one span, an operation of the name.
func batch(name string) string {
	return fmt.Sprintf(`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{`+
		`"stringValue":"svc"}}]},"scopeSpans":[{"scope":{"name":"lib"},"spans":[%s]}]}]}`, spanOf(name))
}

// group returns the one element of a document.
func group(document string) string {
	return strings.TrimSuffix(strings.TrimPrefix(document, `{"resourceSpans":[`), `]}`)
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

const (
	header = `{"schema":"optrace.entries/v1","resource":{"service":"svc"}}`
	// entry is the record of batch("matmul").
	entry = `{"step":null,"operation":"matmul","device_id":null,"input_shapes":null,"output_shape":null,` +
		`"duration_us":0.6,` +
		`"output_elements":null,"memory_bytes":null,"kind":"compute","start_unix_ns":1000,"duration_ns":600,` +
		`"trace_id":"4d02081d276cbb954beb68be77c6566e","span_id":"ca979163b1fe8ba7","service":"svc","scope":"lib"}`
)

func TestJSONLayouts(t *testing.T) {
	var pretty bytes.Buffer
	check.OK(t, json.Indent(&pretty, []byte(batch("matmul")+"\n"), "", "  "))
	for name, text := range map[string]string{
		"one line":          batch("matmul"),
		"line with newline": batch("matmul") + "\r\n",
		"pretty-printed":    pretty.String(),
		"line breaks without indents": strings.NewReplacer("[{", "[\n{\n", ",", ",\n", "}",
			"\n}").Replace(batch("matmul")),
		"empty lines around": "\n\n" + batch("matmul") + "\n\n",
		"empty batches":      "{}\n{}\n" + batch("matmul") + "\n{}\n",
		"result of api_v3":   `{"result":` + batch("matmul") + `}`,
		"snake case": strings.NewReplacer("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "traceId",
			"trace_id", "spanId", "span_id", "startTimeUnixNano", "start_time_unix_nano", "endTimeUnixNano",
			"end_time_unix_nano").Replace(batch("matmul")),
		"before OTLP 0.16": strings.NewReplacer("scopeSpans", "instrumentationLibrarySpans", `"scope"`,
			`"instrumentationLibrary"`).Replace(batch("matmul")),
		"answer of Tempo":  strings.Replace(batch("matmul"), "resourceSpans", "batches", 1),
		"of Tempo's v2":    `{"trace":` + batch("matmul") + `,"metrics":{"trace":1}}`,
		"a resource alone": group(batch("matmul")),
		"times as numbers": strings.NewReplacer(`"1000"`, `1000`, `"1600"`, `1600`).Replace(batch("matmul")),
		"upper-case ids": strings.NewReplacer("4d02081d276cbb954beb68be77c6566e", "4D02081D276CBB954BEB68BE77C6566E",
			"ca979163b1fe8ba7", "CA979163B1FE8BA7").Replace(batch("matmul")),
		"ids in base64": strings.NewReplacer("4d02081d276cbb954beb68be77c6566e", "TQIIHSdsu5VL62i+d8ZWbg==",
			"ca979163b1fe8ba7", "ypeRY7H+i6c=").Replace(batch("matmul")),
		"ids in base64 of hex": strings.NewReplacer("4d02081d276cbb954beb68be77c6566e",
			"NGQwMjA4MWQyNzZjYmI5NTRiZWI2OGJlNzdjNjU2NmU=", "ca979163b1fe8ba7", "Y2E5NzkxNjNiMWZlOGJhNw==").Replace(batch("matmul")),
		"a negative count": strings.Replace(batch("matmul"), `{"traceId"`, `{"droppedLinksCount":-1,"traceId"`, 1),
		"unknown fields": strings.NewReplacer(`{"traceId"`, `{"new":{"a":[1,{"b":"}"}]},"traceId"`, `{"scope"`,
			`{"schemaUrl":"x","scope"`, `[{"resource"`, `[{"x":null,"resource"`, `{"resourceSpans"`,
			`{"y":1.5e3,"resourceSpans"`).Replace(batch("matmul")),
		"value before key": strings.Replace(batch("matmul"),
			`{"key":"tensor.op.name","value":{"stringValue":"matmul"}}`,
			`{"value":{"stringValue":"matmul"},"key":"tensor.op.name"}`, 1),
		"resource after spans": `{"resourceSpans":[{"scopeSpans":[{"spans":[` + spanOf("matmul") +
			`],"scope":{"name":"lib"}}],"resource":{"attributes":[{"key":"service.name","value":{` +
			`"stringValue":"svc"}}]}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			want := result{Records: []string{header, entry}}
			check.Equal(t, "at once", want, read(otlp.JSONRecords, []byte(text)))
			// The sizes of reads do not matter.
			check.Equal(t, "byte by byte", want,
				readFrom(otlp.JSONRecords, iotest.OneByteReader(strings.NewReader(text))))
		})
	}
}

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

func TestJSONAttributeValues(t *testing.T) {
	for _, test := range []struct{ key, value, want string }{
		{"tensor.step", `{"intValue":"7"}`, `"step":7,`},
		{"tensor.step", `{"intValue":7}`, `"step":7,`},
		{"tensor.step", `{"doubleValue":7}`, `"step":7,`},
		{"tensor.step", `{"doubleValue":"7"}`, `"step":7,`},
		{"tensor.step", `{"doubleValue":"-Infinity"}`, `"warn":["bad_value"]`},
		{"tensor.step", `{"intValue":{}}`, `"warn":["bad_value"]`},
		{"tensor.step", `{}`, `"warn":["bad_value"]`},
		{"tensor.step", `null`, `"warn":["bad_value"]`},
		{"tensor.step", `{"bytesValue":"AAE="}`, `"warn":["bad_value"]`},
		{"tensor.output.shape", `{"arrayValue":{"values":[{"intValue":"2"},{"intValue":3}]}}`, `"output_shape":[2,3],`},
		{"tensor.output.shape", `{"arrayValue":{}}`, `"output_shape":[],`},
		{"tensor.output.shape", `{"kvlistValue":{"values":[{"key":"a","value":{"intValue":"1"}}]}}`,
			`"warn":["bad_shape"]`},
		{"tensor.input.shapes",
			`{"arrayValue":{"values":[{"arrayValue":{"values":[{"intValue":"2"},{"doubleValue":3}]}},{"arrayValue":{` +
				`"values":null}}]}}`,
			`"input_shapes":[[2,3],[]],`},
	} {
		t.Run(test.key+" "+test.value, func(t *testing.T) {
			res := read(otlp.JSONRecords, []byte(withAttribute(test.key, test.value)))
			if len(res.Records) != 2 || len(res.Bad) != 0 || !strings.Contains(res.Records[1], test.want) {
				t.Errorf("result = %+v, want %s", res, test.want)
			}
		})
	}
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

func TestJSONSpanFields(t *testing.T) {
	for _, test := range []struct{ name, old, new, want string }{
		{"status error by name", `"name":"op"`, `"name":"op","status":{"code":"STATUS_CODE_ERROR"}`, `"error":""`},
		{"status error, its text in an exception", `"name":"op"`,
			`"name":"op","status":{"code":2},"events":[{"name":"message","attributes":[{"key":"exception.message",` +
				`"value":{"stringValue":"x"}}]},{"name":"exception","attributes":[{"key":"exception.type",` +
				`"value":{"stringValue":"OOM"}},{"key":"exception.message","value":{"stringValue":"out of memory"}}]}]`,
			`"error":"out of memory"`},
		{"status error with a text", `"name":"op"`, `"name":"op","status":{"code":2,"message":"failed"},"events":[{` +
			`"name":"exception",` +
			`"attributes":[{"key":"exception.type","value":{"stringValue":"OOM"}}]}]`, `"error":"failed"`},
		{"empty parent", `"name":"op"`, `"name":"op","parentSpanId":""`, `"scope":"lib"}`},
		{"invalid id", `ca979163b1fe8ba7`, `xx`, `"warn":["bad_id"]`},
		{"duration without a start", `"1000"`, `"0"`, `"duration_ns":1600,"trace_id"`},
		{"start of zero", `"1000","endTimeUnixNano":"1600"`, `"0","endTimeUnixNano":"1795224124978150123"`,
			`"warn":["bad_time"]`},
		{"placeholder for no ids", `4d02081d276cbb954beb68be77c6566e`, `6f7074726163650000000000000000aa`,
			`"duration_ns":600,"service"`},
		{"no number", `"1000"`, `"soon"`, `"warn":["bad_time"]`},
		{"time beyond 64 bits", `"1600"`, `"99999999999999999999"`, `"warn":["bad_time"]`},
		{"invalid UTF-8", `"lib"`, "\"l\xff\"", `"scope":"l` + "\ufffd" + `"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := strings.Replace(batch("matmul"), test.old, test.new, 1)
			res := read(otlp.JSONRecords, []byte(text))
			if len(res.Records) != 2 || len(res.Bad) != 0 || !strings.Contains(res.Records[1], test.want) {
				t.Errorf("result = %+v, want %s", res, test.want)
			}
		})
	}
}

func TestJSONOtherSpansAndSignals(t *testing.T) {
	request := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"4d02081d276cbb954beb68be77c6566e",` +
		`"spanId":"ca979163b1fe8ba7","parentSpanId":"00000000000000aa","flags":769,"name":"POST /",` +
		`"startTimeUnixNano":"5","endTimeUnixNano":"9","status":{"code":2}}]}]}]}`
	text := strings.Join([]string{
		batch("matmul"), request, // which has no resource
		`{"resourceMetrics":[{"scopeMetrics":[]}]}`,
		`{"resourceLogs":[]}`,
		`{}`,
		`{"operation":"relu","duration_us":1}`,
		group(batch("matmul")), `{"resource":{},"scopeLogs":[{}],"schemaUrl":""}`, // as Java logs them
	}, "\n")
	want := result{Records: []string{
		header, entry, `{"span":{"name":"POST /","trace_id":"4d02081d276cbb954beb68be77c6566e",` +
			`"span_id":"ca979163b1fe8ba7","parent_span_id":"00000000000000aa",` +
			`"parent_remote":true,"start_unix_ns":5,"duration_ns":4,"failed":true}}`,
		"{Reason:other_signal N:1 Signal:metrics}", "{Reason:other_signal N:1 Signal:logs}",
		"{Reason:unknown_record N:1 Signal:}",
		header, entry, `{"schema":"optrace.entries/v1","resource":{}}`, "{Reason:other_signal N:1 Signal:logs}",
	}}
	check.Equal(t, "", want, read(otlp.JSONRecords, []byte(text)))
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

func TestJSONDamage(t *testing.T) {
	lines := func(l ...string) string { return strings.Join(l, "\n") + "\n" }
	cut := batch("cut")
	const head = "{\n  \"resourceSpans\": [\n"
	pretty := head + strings.TrimPrefix(batch("pretty"), `{"resourceSpans":[`)
	for _, test := range []struct {
		name, text string
		want       []string // operations
		bad        []string // parts of the errors
	}{
		{"garbage line", lines(batch("a"), "garbage", batch("b")), []string{"a", "b"}, []string{"input:2: "}},
		{"line cut within a string", lines(batch("a"), cut[:120], batch("b")), []string{"a", "b"},
			[]string{"input:2: "}},
		{"line cut behind a colon", lines(batch("a"), `{"resourceSpans":`, batch("b")), []string{"a", "b"},
			[]string{"input:2: "}},
		{"line cut behind a bracket", lines(batch("a"), `{"resourceSpans":[`, batch("b")), []string{"a", "b"},
			[]string{"input:2: "}},
		{"first line cut", lines(`{"resourceSpans":[`, batch("b"), batch("c")), []string{"b", "c"},
			[]string{"input:1: "}},
		{"last line cut", batch("a") + "\n" + cut[:len(cut)-30], []string{"a"}, []string{"truncated"}},
		{"spans before the damage stay", lines(strings.TrimSuffix(batch("a"), `]}]}]}`)+`,x]}]}]}`, batch("b")),
			[]string{"a", "b"}, []string{"input:1: "}},
		{"span of other types", lines(strings.TrimSuffix(batch("a"), `]}]}]}`)+`,{"name":5},`+spanOf("b")+`]}]}]}`,
			batch("c")), []string{"a", "b", "c"}, []string{"input:1: "}},
		{"quote lost in a span", lines(strings.TrimSuffix(batch("a"), `]}]}]}`)+`,{"name":"x},`+spanOf("b")+`]}]}]}`,
			batch("c")), []string{"a", "b", "c"}, []string{"input:1: "}},
		{"trailing garbage", lines(batch("a")+"x", batch("b")), []string{"a", "b"}, []string{"input:1: "}},
		{"pretty document cut", "{\n  \"resourceSpans\": [\n    {\n" + lines(batch("b"), batch("c")),
			[]string{"b", "c"}, []string{"input:4: "}},
		{"pretty document behind lines", lines(batch("a"), batch("b"), pretty, "{\n}", batch("c")),
			[]string{"a", "b", "pretty", "c"}, nil},
		{"pretty document behind lines cut", lines(batch("a"), batch("b"), head+"    {", batch("c"), batch("d")),
			[]string{"a", "b", "c", "d"}, []string{"input:6: "}},
		{"line cut behind a brace", lines(batch("a"), batch("b"), "{", batch("c")), []string{"a", "b", "c"},
			[]string{"input:3: "}},
		{"line cut behind a pretty document", lines(batch("a"), batch("b"), pretty, cut[:120], batch("c"), batch("d")),
			[]string{"a", "b", "pretty", "c", "d"}, []string{"input:6: "}},
		{"deep nesting", lines(`{"x":`+strings.Repeat("[", 1_000_000), batch("b")), []string{"b"},
			[]string{"nested deeper"}},
		{"wrong types", lines(`{"resourceSpans":{}}`, `{"resourceSpans":[1]}`, `[]`, batch("b")), []string{"b"},
			[]string{"input:1: ", "input:2: ", "input:3: "}},
		{"no content", lines(`{"resourceSpans":null}`, `{"resourceSpans":[{"scopeSpans":null}]}`,
			`{"resourceSpans":[{"scopeSpans":[{"spans":null}]}]}`), nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			res := read(otlp.JSONRecords, []byte(test.text))
			if diff := cmp.Diff(test.want, res.names()); diff != "" || res.Err != "" {
				t.Errorf("err %q, operations (-want +got):\n%s", res.Err, diff)
			}
			if len(res.Bad) != len(test.bad) {
				t.Fatalf("bad = %q, want %q", res.Bad, test.bad)
			}
			for i, part := range test.bad {
				if !strings.Contains(res.Bad[i], part) {
					t.Errorf("bad[%d] = %q, want %q", i, res.Bad[i], part)
				}
			}
		})
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
