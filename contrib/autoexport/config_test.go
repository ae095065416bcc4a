package autoexport

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/contrib/otelconf"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
)

func example(t *testing.T) []byte {
	t.Helper()
	return check.Must(os.ReadFile("testdata/otel.yaml"))(t)
}

// The example records operations into the file and sends all spans by OTLP, as a text and as the file named in the
// environment.
func TestExample(t *testing.T) {
	text := example(t)
	path := check.Must(filepath.Abs("testdata/otel.yaml"))(t)
	for name, fromFile := range map[string]bool{"text": false, "file": true} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t, http.StatusOK)
			ops := filepath.Join(t.TempDir(), "ops.jsonl")
			t.Setenv("OPTRACE_FILE", ops)
			t.Setenv("OTLP_ENDPOINT", r.URL+"/v1/traces")
			given := text
			if fromFile {
				t.Setenv("OTEL_CONFIG_FILE", path)
				given = nil
			}
			sdk := check.Must(NewSDK(t.Context(), given))(t)
			record(t.Context(), sdk.TracerProvider())
			check.OK(t, sdk.Shutdown(t.Context()))
			for e, err := range ingest.Open(ops).Entries() {
				if err != nil || e.Service != "trainer" || e.Rank.V != 0 || !e.Rank.Known || e.Root != "POST /predict" {
					t.Errorf("%+v, %v", e, err)
				}
			}
			check.Equal(t, "operations", []string{"matmul", "relu"}, recorded(t, ops))
			check.Equal(t, "spans", everything, r.received())
		})
	}
}

// The file has the operations of sampled traces and names the sampler.
func TestSampler(t *testing.T) {
	t.Chdir(t.TempDir())
	const text = "file_format: \"1.0\"\ndistribution: {optrace: {file: ops.jsonl}}\n" +
		"tracer_provider: {processors: [], sampler: {trace_id_ratio_based: {ratio: 0.999999999}}}\n"
	sdk := check.Must(NewSDK(t.Context(), []byte(text)))(t)
	record(t.Context(), sdk.TracerProvider())
	check.OK(t, sdk.Shutdown(t.Context()))
	report := check.Must(analyze.Run(t.Context(), ingest.Open("ops.jsonl"), analyze.Options{}))(t)
	check.Equal(t, "sampler", "TraceIDRatioBased{0.999999999}", report.Input.Sampler)
}

// otelconf itself reads the example and ignores optrace's section.
func TestExampleWithoutOptrace(t *testing.T) {
	t.Chdir(t.TempDir())
	const text = "file_format: \"1.0\"\ndistribution: {optrace: {file: ops.jsonl}}\ntracer_provider: {processors: []}\n"
	cfg := check.Must(otelconf.ParseYAML([]byte(text)))(t)
	sdk := check.Must(otelconf.NewSDK(otelconf.WithOpenTelemetryConfiguration(*cfg)))(t)
	record(t.Context(), sdk.TracerProvider())
	check.OK(t, sdk.Shutdown(t.Context()))
	_, err := os.Stat("ops.jsonl")
	check.Is(t, "there is a file", os.ErrNotExist, err)
}

// Every setting has an effect or is refused.
func TestSettings(t *testing.T) {
	const tracing = "\ntracer_provider: {processors: []}\n"
	for _, tc := range []struct{ name, text, problem, format string }{
		{name: "nothing said", text: "distribution: {optrace: {}}" + tracing, format: "entries-jsonl"},
		{name: "format", text: "distribution: {optrace: {format: otlp-json}}" + tracing, format: "otlp-json"},
		{name: "compression", text: "distribution: {optrace: {compression: zstd}}" + tracing, format: "entries-jsonl"},
		{
			name: "rotation", format: "entries-jsonl",
			text: "distribution: {optrace: {rotate_bytes: 100000, max_total_bytes: 1000000, rotate_age: 1h}}" + tracing,
		},
		{name: "pipeline", text: "distribution: {optrace: {policy: block, flush_interval: 20ms}}" + tracing,
			format: "entries-jsonl"},
		{name: "not asked for", text: "distribution: {other: {}}" + tracing},
		{name: "no distribution", text: tracing},
		{name: "disabled", text: "disabled: true\ndistribution: {optrace: {}}" + tracing},
		{name: "no tracer provider", text: "distribution: {optrace: {}}\n", problem: "there is no tracer_provider"},
		{name: "unknown key", text: "distribution: {optrace: {path: x}}" + tracing, problem: `unknown key "path"`},
		{name: "unknown format", text: "distribution: {optrace: {format: xml}}" + tracing,
			problem: `format: "xml" is none of [entries`},
		{name: "formats", text: "distribution: {optrace: {format: [3]}}" + tracing,
			problem: "line 2: cannot unmarshal"},
		{name: "size", text: "distribution: {optrace: {rotate_bytes: many}}" + tracing,
			problem: "line 2: cannot unmarshal !!str `many`"},
		{name: "time", text: "distribution: {optrace: {rotate_age: 5}}" + tracing,
			problem: "line 2: cannot unmarshal !!int `5`"},
		{name: "times", text: "distribution: {optrace: {flush_interval: soon}}" + tracing,
			problem: "line 2: cannot unmarshal !!str `soon`"},
		{name: "negative", text: "distribution: {optrace: {flush_interval: -1s}}" + tracing, problem: "flush interval"},
		{name: "no directory", text: "distribution: {optrace: {file: missing/ops.jsonl}}" + tracing,
			problem: "no such file"},
		{name: "no sampler", text: "distribution: {optrace: {}}\ntracer_provider: {processors: [], sampler: {}}\n",
			problem: "sampler"},
		{name: "a number", text: "distribution: {optrace: 5}" + tracing, problem: "line 2: cannot unmarshal"},
		{name: "a list", text: "distribution: {optrace: [1]}" + tracing, problem: "line 2: cannot unmarshal"},
		{name: "no section", text: "distribution: 7" + tracing, problem: "line 2: cannot unmarshal"},
		{name: "no YAML", text: "distribution: [", problem: "yaml"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			t.Setenv("OPTRACE_FILE", "")
			sdk, err := NewSDK(t.Context(), []byte("file_format: \"1.0\"\n"+tc.text))
			if tc.problem != "" {
				check.Says(t, "", tc.problem, err)
				return
			}
			check.OK(t, err)
			record(t.Context(), sdk.TracerProvider())
			check.OK(t, sdk.Shutdown(t.Context()))
			if _, err := os.Stat(defaultFile); tc.format == "" {
				check.Is(t, "there is a file", os.ErrNotExist, err)
				return
			}
			in := ingest.Open(defaultFile)
			entries, _ := recordtest.Split(t, in.Records())
			check.Equal(t, "operations", 2, len(entries))
			check.Equal(t, "formats", []string{tc.format}, in.Stats().Formats)
		})
	}
}

// Variables are replaced in values. The text of a value decides its type.
func TestVariables(t *testing.T) {
	t.Setenv("SIZE", "5")
	t.Setenv("NAME", "a: b")
	t.Setenv("EMPTY", "")
	text := `
distribution:
  optrace:
    plain: ${SIZE}
    quoted: "${SIZE}"
    within: x-${NAME}-${env:SIZE}-y
    default: ${EMPTY:-ops.jsonl}
    none: ${MISSING_VARIABLE}
    dollars: $${SIZE}
    list: ["${SIZE}", {of: "${NAME}"}]
`
	var got map[string]any
	check.OK(t, check.Must(section([]byte(text)))(t).Decode(&got))
	want := map[string]any{
		"plain": 5, "quoted": "5", "within": "x-a: b-5-y", "default": "ops.jsonl", "none": nil, "dollars": "${SIZE}",
		"list": []any{"5", map[string]any{"of": "a: b"}},
	}
	check.Equal(t, "", want, got)
}

// A missing configuration file is an error.
func TestNoConfiguration(t *testing.T) {
	t.Setenv("OTEL_CONFIG_FILE", filepath.Join(t.TempDir(), "missing.yaml"))
	_, err := NewSDK(t.Context(), example(t))
	check.Is(t, "", os.ErrNotExist, err)
}
