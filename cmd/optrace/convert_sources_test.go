package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/cmd/optrace/internal/input"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// entryLines returns the lines of a conversion to entries.
func entryLines(t *testing.T, args ...string) []string {
	t.Helper()
	text, _ := converted(t, "entries", args...)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func tempInput(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// richOTLP is a request and an operation with attributes of every sort.
const richOTLP = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"svc"}},` +
	`{"key":"process.pid","value":{"intValue":"42"}}]},"scopeSpans":[{"scope":{"name":"lib","version":"1.2"},"spans":[` +
	`{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708","name":"POST /","kind":2,` +
	`"startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000000009000","attributes":[` +
	`{"key":"http.route","value":{"stringValue":"/"}},{"key":"warm","value":{"boolValue":true}}],` +
	`"events":[{"timeUnixNano":"1700000000000001000","name":"first token","attributes":[{"key":"n","value":{"doubleValue":2}}]}]},` +
	`{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"1102030405060708","parentSpanId":"0102030405060708","name":"matmul","kind":1,` +
	`"startTimeUnixNano":"1700000000000001000","endTimeUnixNano":"1700000000000005000","attributes":[` +
	`{"key":"tensor.op.name","value":{"stringValue":"matmul"}},{"key":"batch","value":{"intValue":"64"}},` +
	`{"key":"scale","value":{"doubleValue":0.5}}]}]}]}]}`

// What Jaeger's format keeps of attributes reads back with its types.
func TestJaegerKeepsAttributes(t *testing.T) {
	_, file := converted(t, "jaeger", tempInput(t, "in.json", richOTLP))
	want := []string{
		`{"schema":"optrace.entries/v1","resource":{"service":"svc","attrs":{"process.pid":42}}}`,
		`{"span":{"name":"POST /","trace_id":"0102030405060708090a0b0c0d0e0f10","span_id":"0102030405060708",` +
			`"start_unix_ns":1700000000000000000,"duration_ns":9000,"service":"svc","attrs":{"http.route":"/","warm":true},` +
			`"extra":{"kind":"server","scope":"lib","scope_version":"1.2","events":[{"name":"first token",` +
			`"time_unix_ns":1700000000000001000,"attrs":{"n":2.0}}]}}}`,
		`{"step":null,"operation":"matmul","device_id":null,"input_shapes":null,"output_shape":null,"duration_us":4,` +
			`"output_elements":null,"memory_bytes":null,"kind":"compute","start_unix_ns":1700000000000001000,"duration_ns":4000,` +
			`"trace_id":"0102030405060708090a0b0c0d0e0f10","span_id":"1102030405060708","parent_span_id":"0102030405060708",` +
			`"service":"svc","scope":"lib","attrs":{"batch":64,"scale":0.5},"extra":{"scope_version":"1.2"},"warn":["us_truncated"]}`,
	}
	if diff := cmp.Diff(want, entryLines(t, file)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDropAttributes(t *testing.T) {
	input := tempInput(t, "in.json", richOTLP)
	want := []string{
		`{"schema":"optrace.entries/v1","resource":{"service":"svc"}}`,
		`{"span":{"name":"POST /","trace_id":"0102030405060708090a0b0c0d0e0f10","span_id":"0102030405060708",` +
			`"start_unix_ns":1700000000000000000,"duration_ns":9000,"service":"svc"}}`,
		`{"step":null,"operation":"matmul","device_id":null,"input_shapes":null,"output_shape":null,"duration_us":4,` +
			`"output_elements":null,"memory_bytes":null,"kind":"compute","start_unix_ns":1700000000000001000,"duration_ns":4000,` +
			`"trace_id":"0102030405060708090a0b0c0d0e0f10","span_id":"1102030405060708","parent_span_id":"0102030405060708",` +
			`"service":"svc","scope":"lib"}`,
	}
	if diff := cmp.Diff(want, entryLines(t, "-drop-attributes", input)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Also those that the input holds as entries do.
	_, file := converted(t, "entries", input)
	if diff := cmp.Diff(want, entryLines(t, "-drop-attributes", file)); diff != "" {
		t.Errorf("of entries (-want +got):\n%s", diff)
	}
}

// An operation has the resource of its writer, wherever that was stated, and none of
// another file's.
func TestConversionsKeepSources(t *testing.T) {
	const entry = `{"operation":"relu","duration_us":1,"service":"svc"}` + "\n"
	header := func(host string) string {
		return `{"schema":"optrace.entries/v1","resource":{"service":"svc","attrs":{"host.name":"` + host + `"}}}` + "\n"
	}
	batch := func(w string) string { return `{"batch":{"writer":"` + w + `","seq":0,"entries":1}}` + "\n" }
	first := tempInput(t, "a.jsonl", batch("v")+header("a")+entry+batch("w")+header("b")+entry+batch("v")+entry)
	second := tempInput(t, "b.jsonl", entry)
	hosts := func(file string) (all []string) {
		m := new(attr.Mapping)
		m.Keep("host.name")
		err := input.Source{Inputs: []string{file}, Mapping: m}.Each(streams.Streams{Err: os.Stderr}, nil, func(rec op.Record, err error) error {
			if rec.Entry != nil {
				host := ""
				for _, a := range rec.Entry.Attrs {
					host = a.Value
				}
				all = append(all, host)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return all
	}
	for _, format := range []string{"entries", "otlp", "parquet"} {
		_, file := converted(t, format, first, second)
		if diff := cmp.Diff([]string{"a", "b", "a", ""}, hosts(file)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
	}
}
