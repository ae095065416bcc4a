package stdouttrace_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	exporter "go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/ingest/stdouttrace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/optest"
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
	times = `"StartTime":"2026-11-21T01:00:00.000000001Z","EndTime":"2026-11-21T03:00:00.000000602+02:00"`
)

// operation is the span of an operation with further members and attributes.
func operation(members, attributes string) string {
	return `{"Name":"op/x",` + ids + `,` + times + members +
		`,"Attributes":[{"Key":"tensor.op.name","Value":{"Type":"STRING","Value":"x"}}` + attributes + `]}`
}

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

// TestRecordsOfPython reads output of Python's ConsoleSpanExporter, of this version and an older one.
func TestRecordsOfPython(t *testing.T) {
	m := &attr.Mapping{}
	m.KeepAll()
	golden.Cases(t, "testdata/python.txt", func(text string) string {
		return recordtest.Transcript(t, stdouttrace.Records(strings.NewReader(text), "output", m))
	})
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
	for line := range bytes.Lines(check.Must(os.ReadFile("testdata/python.txt"))(f)) {
		f.Add(line)
	}
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

// TestConformance prints the cases with the exporter, on lines and indented.
func TestConformance(t *testing.T) {
	for name, opts := range map[string][]exporter.Option{"lines": nil, "indented": {exporter.WithPrettyPrint()}} {
		t.Run(name, func(t *testing.T) {
			optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
				if c.Has("InvalidUTF8", "NonFinite") {
					t.Skip("JSON cannot hold the span")
				}
				var out bytes.Buffer
				exp := check.Must(exporter.New(append(opts, exporter.WithWriter(&out))...))(t)
				check.OK(t, exp.ExportSpans(t.Context(), tracetest.SpanStubs{c.Stub(t)}.Snapshots()))
				for rec, err := range stdouttrace.Records(&out, "output", nil) {
					check.OK(t, err)
					if rec.Entry != nil {
						return rec.Entry.Clone(), true
					}
				}
				return nil, false
			})
		})
	}
}

// lost lists the fields missing in Python's output: times are microseconds, attributes an object without counts of the
// dropped ones.
var lost = []string{"Nanoseconds", "Duplicates", "NonFinite", "InvalidUTF8", "NoIDs", "Dropped"}

// TestConformanceOfPython prints the cases as Python does. It prints no scope.
func TestConformanceOfPython(t *testing.T) {
	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
		if c.Has(lost...) {
			t.Skip("Python's output cannot hold the span")
		}
		for rec, err := range stdouttrace.Records(strings.NewReader(python(t, c)), "output", nil) {
			check.OK(t, err)
			if rec.Entry != nil {
				e := rec.Entry.Clone()
				e.Warn &^= op.WarnMicroseconds // the mark on all entries
				e.Scope = c.Span.InstrumentationScope.Name
				return e, true
			}
		}
		return nil, false
	})
}

// python returns a span as Python's ConsoleSpanExporter prints it.
func python(t *testing.T, c optest.Case) string {
	t.Helper()
	type object = map[string]any
	// Attributes keep their order.
	attrs := func(list []attribute.KeyValue) json.RawMessage {
		var members []string
		for _, a := range list {
			value := a.Value.String()
			switch {
			case a.Value.Type() == attribute.STRING:
				value = string(check.Must(json.Marshal(value))(t))
			case a.Value.Type() == attribute.FLOAT64 && !strings.ContainsAny(value, ".e"):
				value += ".0"
			}
			members = append(members, fmt.Sprintf("%s: %s", check.Must(json.Marshal(a.Key))(t), value))
		}
		return json.RawMessage("{" + strings.Join(members, ", ") + "}")
	}
	context := func(s trace.SpanContext, state string) object {
		return object{"trace_id": "0x" + s.TraceID().String(), "span_id": "0x" + s.SpanID().String(),
			"trace_state": state}
	}
	at := func(at time.Time) any {
		if at.IsZero() {
			return nil
		}
		return at.UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	state := "[]"
	if c.TraceState != "" {
		var pairs []string
		for pair := range strings.SplitSeq(c.TraceState, ",") {
			key, value, _ := strings.Cut(pair, "=")
			pairs = append(pairs, "'{key="+key+", value="+value+"}'")
		}
		state = "[" + strings.Join(pairs, ", ") + "]"
	}
	s := c.Span
	span := object{
		"name": s.Name, "context": context(s.SpanContext, state), "kind": "SpanKind.SERVER", "parent_id": nil,
		"start_time": at(s.StartTime), "end_time": at(s.EndTime), "status": object{"status_code": "UNSET"},
		"attributes": attrs(s.Attributes), "events": []any{}, "resource": object{
			"attributes": attrs(s.Resource.Attributes()), "schema_url": ""},
	}
	if s.Parent.HasSpanID() {
		span["parent_id"] = "0x" + s.Parent.SpanID().String()
	}
	if s.Status.Code == codes.Error {
		span["status"] = object{"status_code": "ERROR", "description": s.Status.Description}
	}
	var links []any
	for _, l := range s.Links {
		links = append(links, object{"context": context(l.SpanContext, "[]"), "attributes": attrs(l.Attributes)})
	}
	span["links"] = links
	return string(check.Must(json.MarshalIndent(span, "", "    "))(t))
}
