package stdouttrace_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/stdouttrace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

func transcript(t testing.TB, text string) string {
	t.Helper()
	return recordtest.Transcript(t, stdouttrace.Records(strings.NewReader(text), "output", nil))
}

// TestGolden reads the output of exporter version 1.47, on lines and indented.
func TestGolden(t *testing.T) {
	for _, file := range []string{"spans.jsonl", "spans.pretty.json"} {
		t.Run(file, func(t *testing.T) {
			path := filepath.Join("testdata", file)
			golden.Check(t, path+".golden", transcript(t, string(check.Must(os.ReadFile(path))(t))))
		})
	}
}

const (
	ids = `"SpanContext":{"TraceID":"0af7651916cd43dd8448eb211c80319c","SpanID":"00f067aa0ba902b7","TraceFlags":"01",` +
		`"TraceState":"",` +
		`"Remote":false},"Parent":{"TraceID":"00000000000000000000000000000000","SpanID":"0000000000000000"}`
	times   = `"StartTime":"2026-11-21T01:00:00.000000001Z","EndTime":"2026-11-21T03:00:00.000000602+02:00"`
	wantIDs = `"trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"00f067aa0ba902b7"`
)

// operation is the span of an operation with further members and attributes.
func operation(members, attributes string) string {
	return `{"Name":"op/x",` + ids + `,` + times + members +
		`,"Attributes":[{"Key":"tensor.op.name","Value":{"Type":"STRING","Value":"x"}}` + attributes + `]}`
}

// entry is the record of operation, given its shapes and the members after its ids.
func entry(inputs, rest string) string {
	return `{"step":null,"operation":"x","device_id":null,"input_shapes":` + inputs +
		`,"output_shape":null,"duration_us":0.601,"output_elements":null,"memory_bytes":null,"kind":"compute",` +
		`"start_unix_ns":1795222800000000001,"duration_ns":601,` + wantIDs + rest + "}\n"
}

const pythonSpan = `{"name": "GET", "context": {"trace_id": "0x0af7651916cd43dd8448eb211c80319c", "span_id": ` +
	`"0x00f067aa0ba902b7", "trace_state": "['{key=a, value=1}', '{key=b@c, value=}}']"}, "kind": "SpanKind.CLIENT", ` +
	`"parent_id": "0xb7ad6b7169203331", "start_time": "2026-11-21T01:00:00.000001Z", ` +
	`"end_time": "2026-11-21T01:00:00.000603Z", "status": {"status_code": "ERROR", "description": "late"}, ` +
	`"attributes": {"n": 2, "f": 2.0, "t": "1.5", "l": [1, 2.0], "b": true}, "events": [{"name": "e", ` +
	`"timestamp": "2026-11-21T01:00:00.000002Z", "attributes": {"k": "v"}}], "links": [{"context": {"trace_id": ` +
	`"0x0af7651916cd43dd8448eb211c80319c", "span_id": "0x00f067aa0ba902b8", "trace_state": "[]"}, "attributes": ` +
	`{"w": 1}}], "resource": {"attributes": {"service.name": "api"}, "schema_url": ""}}`

func TestRecords(t *testing.T) {
	const span = `{"Name":"GET",` + ids + `,` + times + `}`
	const wantSpan = `{"span":{"name":"GET",` + wantIDs + `,"start_unix_ns":1795222800000000001,"duration_ns":601}}` +
		"\n"
	const resource = `,"Resource":[{"Key":"service.name","Value":{"Type":"STRING","Value":"api"}},` +
		`{"Key":"tensor.rank","Value":{"Type":"INT64","Value":3}},{"Key":"tensor.world_size","Value":{"Type":"INT64",` +
		`"Value":8}},{"Key":"ids","Value":{"Type":"INT64SLICE","Value":[0, 1]}}]`
	const wantResource = `{"schema":"optrace.entries/v1","resource":{"service":"api","rank":3,"world_size":8,` +
		`"attrs":{"ids":[0,1]}}}` + "\n"
	ofAPI := strings.Replace(entry("null", `,"service":"api"`), `"duration_ns":601,`, `"duration_ns":601,"rank":3,`, 1)
	attr := func(key, kind, value string) string {
		return `,{"Key":"` + key + `","Value":{"Type":"` + kind + `","Value":` + value + `}}`
	}
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"an operation", operation("", ""), entry("null", "")},
		{"what is no operation", span, wantSpan},
		{"several, without separators", span + span + "\n" + span, wantSpan + wantSpan + wantSpan},
		{"lists", "[\n\t" + span + ",\n" + span + "\n]\n[" + span + "]", wantSpan + wantSpan + wantSpan},
		{"a torn list", "[" + span + ",\n" + span[:40], wantSpan +
			"error: output: unexpected end of JSON text (at byte 372)\n"},
		{"other output that starts like a list", "[INFO]\n" + span,
			"error: output: expected an object, found '[' (at byte 0)\n" + wantSpan},
		{"a log entry that is no span of Python", `{"name":"x","context":{"user":1},"parent_id":null}`,
			"error: output: object that is no span (at byte 0)\n"},
		{"an empty object", "{}\n" + span, wantSpan},
		{
			"a remote parent", strings.Replace(span, `"SpanID":"0000000000000000"`,
				`"SpanID":"b7ad6b7169203331","Remote":true`, 1),
			strings.Replace(wantSpan, `,"start`, `,"parent_span_id":"b7ad6b7169203331","parent_remote":true,"start`, 1),
		},
		{"status Ok", operation(`,"Status":{"Code":"Ok","Description":""}`, ""), entry("null", "")},
		{"an exception", operation(`,"Status":{"Code":"Error","Description":""},"Events":[{"Name":"exception",`+
			`"Attributes":[{"Key":"exception.message","Value":{"Type":"STRING","Value":"out of memory"}}]}]`, ""),
			entry("null", `,"error":"out of memory"`)},
		{"scope", operation(`,"InstrumentationScope":{"Name":"engine"},"InstrumentationLibrary":{"Name":""}`, ""),
			entry("null",
				`,"scope":"engine"`)},
		{"scope in old versions", operation(`,"InstrumentationLibrary":{"Name":"engine"}`, ""),
			entry("null", `,"scope":"engine"`)},
		{
			"the resource of two spans, and none of the third",
			operation(resource, "") + "\n" + operation(resource, "") + "\n" + operation("", ""),
			wantResource + ofAPI + ofAPI + `{"schema":"optrace.entries/v1","resource":{}}` + "\n" + entry("null", ""),
		},
		{
			"times that do not fit", strings.NewReplacer("2026-11-21T01", "2600-11-21T01", "2026-11-21T03",
				"1600-11-21T03").Replace(operation("", "")),
			strings.NewReplacer(`"start_unix_ns":1795222800000000001,`, "", "0.601", "0", "601",
				"0").Replace(entry("null", `,"warn":["bad_time"]`)),
		},
		{"ids that are none", strings.ReplaceAll(operation("", ""), "00f067aa0ba902b7", "xyz"),
			strings.Replace(entry("null",
				`,"warn":["bad_id"]`), `,"span_id":"00f067aa0ba902b7"`, "", 1)},
		{
			"mixed elements", operation("", attr("tensor.input.shapes", "SLICE",
				`[{"Type":"INT64SLICE","Value":[2,3]},{"Type":"MAP","Value":[{"Key":"a","Value":{"Type":"INT64",`+
					`"Value":1}}]},{"Type":"STRING",`+
					`"Value":"4x5"},{"Value":[6]},{"Type":"SLICE","Value":[{"Type":"INT64","Value":7}]}]`)),
			entry("[[2,3],null,[4,5],[6],[7]]", `,"warn":["bad_shape"]`),
		},
		{
			"values of odd types", operation("", attr("tensor.path", "EMPTY", "null")+attr("tensor.input.shapes",
				"BYTESLICE",
				`"AQ=="`)+`,7,{"Key":7},{"Value":7,"Key":"k"}`+attr("a", "MAP", "[]")),
			entry("null", `,"warn":["bad_shape"]`),
		},
		{
			"spans that cannot be read", `{"Name":"GET","SpanContext":{"TraceID":nope}}` + "\n" + `{"level":"info"}` +
				"\n" + span,
			"error: output: expected null, found 'n' (at byte 39)\nerror: output: object that is no span (at byte " +
				"46)\n" + wantSpan,
		},
		{"other output in between", "listening on :8080\n" + span + "\n[done]\n" + span,
			"error: output: expected an object, found 'l' (at byte 0)\n" + wantSpan +
				"error: output: expected an object, found '[' (at byte 349)\n" + wantSpan},
		{
			"zeros, and damage in attributes", "\x00\x00" + operation("",
				`,{"Key":"a","Value":{"Type":"STRING","Value":"C:\x"}},`+
					`{"Key":"tensor.step","Value":{"Type":"FLOAT64","Value":NaN}}`) + "\n\x00",
			"error: output: zero bytes passed over: 2 (at byte 0)\n" + entry("null", `,"warn":["bad_value"]`) +
				"error: output: zero bytes passed over: 1 (at byte 525)\n",
		},
		{"a torn line", span[:100] + "\n" + span, "error: output: control character in a string (at byte 100)\n" +
			wantSpan},
		{"a torn tail", span + "\n" + span[:100], wantSpan +
			"error: output: unexpected end of JSON text (at byte 430)\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			check.Equal(t, "records", test.want, transcript(t, test.text))
		})
	}
}

func TestRecordsWithMapping(t *testing.T) {
	m := &attr.Mapping{}
	m.Keep("debug.stats")
	for rec, err := range stdouttrace.Records(strings.NewReader(operation("",
		`,{"Key":"debug.stats","Value":{"Type":"FLOAT64SLICE","Value":[0.5, 1]}}`)), "output", m) {
		if err != nil || rec.Entry == nil {
			t.Fatalf("%+v, %v", rec, err)
		}
		check.Equal(t, "attributes", []op.Attr{{Key: "debug.stats", Value: "[0.5,1.0]", Type: op.AttrJSON}},
			rec.Entry.Attrs)
	}
}

func TestRecordsOfPython(t *testing.T) {
	m := &attr.Mapping{}
	m.KeepAll()
	old := strings.NewReplacer(`"attributes": {"service.name": "api"}, "schema_url": ""`, `"service.name": "api"`,
		"SpanKind.CLIENT", "SpanKind.INTERNAL", "ERROR", "OK").Replace(pythonSpan)
	got := recordtest.Transcript(t, stdouttrace.Records(strings.NewReader(pythonSpan+"\n"+old), "output", m))
	const resource = `{"schema":"optrace.entries/v1","resource":{"service":"api"}}` + "\n"
	const failed = `{"span":{"name":"GET","trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"00f067aa0ba902b7",` +
		`"parent_span_id":"b7ad6b7169203331","start_unix_ns":1795222800000001000,"duration_ns":602000,` +
		`"service":"api","failed":true,"attrs":{"n":2,"f":2.0,"t":"1.5","l":[1,2.0],"b":true},"links":[{"trace_id":` +
		`"0af7651916cd43dd8448eb211c80319c","span_id":"00f067aa0ba902b8","attrs":{"w":1}}],"extra":{"kind":"client",` +
		`"trace_state":"a=1,b@c=}","message":"late","events":[{"name":"e","time_unix_ns":1795222800000002000,` +
		`"attrs":{"k":"v"}}]}}}` + "\n"
	ok := strings.NewReplacer(`"failed":true,`, "", `"kind":"client",`, "", `"message"`,
		`"ok":true,"message"`).Replace(failed)
	check.Equal(t, "records", resource+failed+resource+ok, got)
}

func TestRecordsEnd(t *testing.T) {
	whole := `{"level":"info"}` + "\n" + operation(`,"Resource":[]`, "") + "\n" + operation("", "")
	recordtest.Ends(t, stdouttrace.Records, whole, operation("", "")+"\n{")
}

// FuzzRecords checks that no input makes the reader panic, and that entries are valid and survive JSON Lines.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(operation(`,"Status":{"Code":"Error"},"Resource":[{"Key":"k","Value":{"Type":"SLICE","Value":[{`+
		`"Value":1}]}}]`,
		`,{"Key":"tensor.input.shapes","Value":{"Type":"SLICE","Value":[{"Type":"INT64SLICE","Value":[2]},`+
			`{"Type":"MAP","Value":{}}]}}`)))
	f.Add([]byte(pythonSpan))
	f.Add([]byte("[" + operation("", "") + ",{}]\n[{"))
	f.Add([]byte("{\n\t\"Name\": \"x\"\n}\n{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		recordtest.Check(t, stdouttrace.Records(bytes.NewReader(text), "fuzz", nil))
	})
}

func BenchmarkReadStdouttrace(b *testing.B) {
	one := check.Must(os.ReadFile("testdata/spans.jsonl"))(b)
	const copies = 100
	text := bytes.Repeat(one, copies)
	recordtest.Benchmark(b, text, 14*copies, stdouttrace.Records)
}
