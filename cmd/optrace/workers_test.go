package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/cmd/optrace/internal/convert"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
)

// workerInputs writes files of several parts and returns inputs: entries of two writers,
// some of them damaged, with documents of OTLP; a document of two resources alone and
// behind standard input; lines of OTLP.
func workerInputs(t *testing.T) [][]string {
	t.Helper()
	dir := t.TempDir()
	var entries strings.Builder
	for n := range 8000 {
		if n%100 == 0 {
			w := n / 100 % 3
			if n < 300 {
				fmt.Fprintf(&entries, `{"schema":"optrace.entries/v1","resource":{"service":"svc","attrs":{"host.name":"h%d"}}}`+"\n", w)
			}
			fmt.Fprintf(&entries, `{"batch":{"writer":"w%d","seq":%d,"entries":100}}`+"\n", w, n/100)
		}
		if n%3001 == 17 {
			entries.WriteString("nonsense\n")
		}
		fmt.Fprintf(&entries, `{"step":%d,"operation":"op%d","device_id":"cuda:%d","input_shapes":[[%d,64]],"output_shape":[64],`+
			`"duration_us":%d,"output_elements":64,"memory_bytes":256,"start_unix_ns":%d,`+
			`"trace_id":"000000000000000000000000000000%02x","span_id":"%016x","service":"svc"}`+"\n",
			n/500, n%40, n%2, n%7, 1+n%13, 1_700_000_000_000_000_000+int64(n)*20_000, 1+n/1000, n+1)
	}
	var spans []string
	for n := range 12_000 {
		spans = append(spans, fmt.Sprintf(`{"traceId":"%032x","spanId":"%016x","parentSpanId":"","name":"op%d","kind":1,`+
			`"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[{"key":"tensor.op.name","value":{"stringValue":"op%d"}},`+
			`{"key":"note","value":{"boolValue":true}}],"status":{}}`,
			100+n/1000, n+100_000, n%40, 1_700_000_000_000_000_000+int64(n)*20_000, 1_700_000_000_000_009_000+int64(n)*20_000, n%40))
	}
	document := `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"other"}}]},` +
		`"scopeSpans":[{"scope":{"name":"lib"},"spans":[` + strings.Join(spans, ",") + `]}]}]}`
	group := func(service string, spans []string) string {
		return `{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"` + service + `"}}]},` +
			`"scopeSpans":[{"scope":{"name":"lib"},"spans":[` + strings.Join(spans, ",") + `]}]}`
	}
	two := `{"resourceSpans":[` + group("a", spans[:5000]) + "," + group("b", spans[5000:]) + `]}`
	var lines strings.Builder
	for some := range slices.Chunk(spans, 100) {
		lines.WriteString(`{"resourceSpans":[` + group("c", some) + "]}\n")
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	twoPath := write("two.json", two)
	return [][]string{
		{write("ops.jsonl", entries.String()), write("spans.json", document), write("cut.json", document[:len(document)-1000])},
		{twoPath}, {twoPath, "-"}, {"-", twoPath}, {write("lines.jsonl", lines.String())},
	}
}

// piped is what the commands of TestProcessors read from standard input.
const piped = `{"step":1,"operation":"piped","device_id":"cuda:0","input_shapes":[],"output_shape":[1],"duration_us":3,` +
	`"output_elements":1,"memory_bytes":4}` + "\n"

// outputWith returns what a command prints where it has so many processors.
func outputWith(t *testing.T, processors int, args []string) (stdout, stderr string) {
	t.Helper()
	before := runtime.GOMAXPROCS(processors)
	defer runtime.GOMAXPROCS(before)
	var out, errs bytes.Buffer
	if code := run(t.Context(), args, strings.NewReader(piped), &out, &errs); code != exit.OK {
		t.Fatalf("%q: exit code %d\n%s", args, code, &errs)
	}
	return out.String(), errs.String()
}

// Converted files and reports do not depend on the number of processors.
func TestProcessors(t *testing.T) {
	inputs := workerInputs(t)
	commands := [][]string{slices.Concat([]string{"correlate", "-json"}, inputs[0])}
	for _, to := range convert.Targets() {
		commands = append(commands, slices.Concat([]string{"convert", "-to", to.Name}, inputs[0]))
	}
	for _, files := range inputs {
		commands = append(commands, slices.Concat([]string{"report", "-json"}, files),
			slices.Concat([]string{"convert", "-to", "entries"}, files))
	}
	for args := range cases.Of(t, 3, commands) {
		want, wantErr := outputWith(t, 1, args)
		if args[0] != "convert" && !json.Valid([]byte(want)) {
			t.Fatalf("%q: no JSON", args)
		}
		for _, processors := range []int{3} {
			got, gotErr := outputWith(t, processors, args)
			if got != want {
				t.Errorf("%q: another output with %d processors, %d bytes in place of %d", args, processors, len(got), len(want))
			}
			check.Equal(t, fmt.Sprintf("%q, %d processors", args, processors), wantErr, gotErr)
		}
	}
}
