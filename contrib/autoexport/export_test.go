package autoexport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/contrib/otelconf"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver receives OTLP by HTTP and keeps the names of spans, or answers with an error.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	spans  []string
	answer int
}

func newReceiver(t *testing.T, answer int) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(r)
	t.Cleanup(func() {
		r.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return r
}

// ServeHTTP implements [http.Handler].
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	text, err := io.ReadAll(req.Body)
	var message collector.ExportTraceServiceRequest
	if err = errors.Join(err, proto.Unmarshal(text, &message)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rs := range message.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				r.spans = append(r.spans, s.Name)
			}
		}
	}
	w.WriteHeader(r.answer)
}

func (r *receiver) received() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.spans))
}

// record records two operations below a request, and another request.
func record(ctx context.Context, tp trace.TracerProvider) {
	tr := optrace.NewTracer(tp)
	ctx, request := tp.Tracer("test").Start(ctx, "POST /predict")
	_, mm := tr.Start(ctx, "matmul", "cuda:0")
	mm.Out(2, 3).End()
	_, relu := tr.Start(ctx, "relu", "cuda:0")
	relu.End()
	request.End()
	_, other := tp.Tracer("test").Start(context.WithoutCancel(ctx), "GET /health", trace.WithNewRoot())
	other.End()
}

var everything = []string{"GET /health", "POST /predict", "matmul", "relu"}

func recorded(t *testing.T, path string) []string {
	t.Helper()
	var names []string
	for e, err := range ingest.Open(path).Entries() {
		check.OK(t, err)
		names = append(names, e.Operation)
	}
	slices.Sort(names)
	return names
}

// export records with the exporter configured in the environment.
func export(t *testing.T) error {
	t.Helper()
	exp, err := autoexport.NewSpanExporter(t.Context())
	if err != nil {
		return err
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exp))
	record(t.Context(), tp)
	return errors.Join(tp.ForceFlush(t.Context()), tp.Shutdown(t.Context()))
}

// The default file is ops.jsonl in the current directory.
func TestDefaultFile(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("OTEL_TRACES_EXPORTER", "optrace")
	t.Setenv("OPTRACE_FILE", "")
	check.OK(t, export(t))
	check.Equal(t, "operations", []string{"matmul", "relu"}, recorded(t, "ops.jsonl"))
}

func TestDisabled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	t.Setenv("OTEL_TRACES_EXPORTER", "optrace")
	t.Setenv("OPTRACE_FILE", path)
	t.Setenv("OPTRACE_DISABLED", "true")
	check.OK(t, export(t))
	_, err := os.Stat(path)
	check.Is(t, "the file is there", os.ErrNotExist, err)
}

// If the receiver refuses spans, the file has the operations, and the error is reported.
func TestTee(t *testing.T) {
	for _, answer := range []int{http.StatusOK, http.StatusForbidden} {
		r := newReceiver(t, answer)
		path := filepath.Join(t.TempDir(), "ops.jsonl")
		t.Setenv("OTEL_TRACES_EXPORTER", "optrace+otlp")
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
		t.Setenv("OPTRACE_FILE", path)
		if err := export(t); answer == http.StatusOK {
			check.OK(t, err)
			check.Equal(t, "spans", everything, r.received())
		} else {
			check.Says(t, "", "403", err)
		}
		check.Equal(t, "operations", []string{"matmul", "relu"}, recorded(t, path))
	}
}

func TestProtocols(t *testing.T) {
	for _, tc := range []struct{ traces, all, problem string }{
		{"", "", ""},
		{"", "grpc", ""},
		{"grpc", "nonsense", ""},
		{"http/protobuf", "grpc", ""},
		{"http/json", "grpc", `unknown OTLP protocol "http/json"`},
		{"", "nonsense", `unknown OTLP protocol "nonsense"`},
	} {
		t.Setenv("OTEL_TRACES_EXPORTER", "optrace+otlp")
		t.Setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", tc.traces)
		t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", tc.all)
		t.Setenv("OPTRACE_FILE", filepath.Join(t.TempDir(), "ops.jsonl"))
		exp, err := autoexport.NewSpanExporter(t.Context())
		if (err == nil) != (tc.problem == "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
			t.Errorf("%+v: error %v", tc, err)
		}
		if err == nil {
			check.OK(t, exp.Shutdown(t.Context()))
		}
	}
}

// A file without write permission is an error.
func TestNoFile(t *testing.T) {
	for _, name := range []string{Name, NameWithOTLP} {
		t.Setenv("OTEL_TRACES_EXPORTER", name)
		t.Setenv("OPTRACE_FILE", filepath.Join(t.TempDir(), "missing", "ops.jsonl"))
		if exp, err := autoexport.NewSpanExporter(t.Context()); err == nil || exp != nil {
			t.Errorf("%s: exporter %v, error %v", name, exp, err)
		}
	}
}

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
