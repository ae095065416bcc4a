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

const pythonSpan = `{"name": "GET", "context": {"trace_id": "0x0af7651916cd43dd8448eb211c80319c", "span_id": ` +
	`"0x00f067aa0ba902b7", "trace_state": "['{key=a, value=1}', '{key=b@c, value=}}']"}, "kind": "SpanKind.CLIENT", ` +
	`"parent_id": "0xb7ad6b7169203331", "start_time": "2026-11-21T01:00:00.000001Z", ` +
	`"end_time": "2026-11-21T01:00:00.000603Z", "status": {"status_code": "ERROR", "description": "late"}, ` +
	`"attributes": {"n": 2, "f": 2.0, "t": "1.5", "l": [1, 2.0], "b": true}, "events": [{"name": "e", ` +
	`"timestamp": "2026-11-21T01:00:00.000002Z", "attributes": {"k": "v"}}], "links": [{"context": {"trace_id": ` +
	`"0x0af7651916cd43dd8448eb211c80319c", "span_id": "0x00f067aa0ba902b8", "trace_state": "[]"}, "attributes": ` +
	`{"w": 1}}], "resource": {"attributes": {"service.name": "api"}, "schema_url": ""}}`

func TestRecords(t *testing.T) { recordtest.Cases(t, stdouttrace.Records) }

func TestZerosAndDamageInAttributes(t *testing.T) {
	got := transcript(t, "\x00\x00"+operation("", `,{"Key":"a","Value":{"Type":"STRING","Value":"C:\x"}},`+
		`{"Key":"tensor.step","Value":{"Type":"FLOAT64","Value":NaN}}`)+"\n\x00")
	lines := strings.Split(got, "\n")
	if len(lines) != 4 || lines[0] != "error: output: zero bytes passed over: 2 (at byte 0)" ||
		!strings.HasSuffix(lines[1], `,"warn":["bad_value"]}`) ||
		lines[2] != "error: output: zero bytes passed over: 1 (at byte 525)" {
		t.Error(got)
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
