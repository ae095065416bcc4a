package snippets

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/program"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

var record = flag.Bool("record", false, "rewrite the recorded spans of the programs that can be run here")

// programs run one snippet each and return its OTLP in JSON. They skip the test if a tool is missing.
var programs = map[string]func(t *testing.T) []byte{
	"cpp": func(t *testing.T) []byte {
		needs(t, "g++")
		program := filepath.Join(t.TempDir(), "snippet")
		run(t, "g++", "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, "cpp/without_sdk.cpp")
		return run(t, program)
	},
	"rust": func(t *testing.T) []byte {
		needs(t, "rustc")
		program := filepath.Join(t.TempDir(), "snippet")
		run(t, "rustc", "--edition", "2021", "-O", "-D", "warnings", "-o", program, "rust/without_sdk.rs")
		return run(t, program)
	},
	"python": func(t *testing.T) []byte {
		python := pythonWithTorch(t)
		t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
		return run(t, python, "python/without_sdk.py")
	},
	"javascript": func(t *testing.T) []byte {
		var mu sync.Mutex
		var bodies bytes.Buffer // one per line
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			_, _ = bodies.ReadFrom(r.Body) // the comparison shows missing spans
			bodies.WriteByte('\n')
		}))
		defer server.Close()
		runJavaScript(t, server.URL)
		mu.Lock()
		defer mu.Unlock()
		return bodies.Bytes()
	},
}

// runJavaScript runs the JavaScript snippet with an endpoint.
func runJavaScript(t *testing.T, endpoint string) {
	t.Helper()
	if _, err := os.Stat("javascript/node_modules"); err != nil {
		t.Skip("its packages are not installed: npm ci in examples/snippets/javascript")
	}
	needs(t, "node")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	run(t, "node", "javascript/snippet.js")
}

// pythonWithTorch returns a Python interpreter with PyTorch.
func pythonWithTorch(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import torch").Run() == nil {
			return python
		}
	}
	t.Skip("needs a Python with PyTorch, which no CI has: some gigabytes")
	return ""
}

// needs skips the test if a program is missing or broken, such as rustup without a toolchain.
func needs(t *testing.T, program string) {
	t.Helper()
	if err := exec.CommandContext(t.Context(), program, "--version").Run(); err != nil {
		t.Skipf("needs %s, which .ci/snippets installs: %v", program, err)
	}
}

func run(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, errs.Bytes())
	}
	return out
}

// transcript returns the operations of a file, one per line, after the name of their parents, without values that vary
// between runs.
func transcript(t *testing.T, path string) string {
	t.Helper()
	names := make(map[op.SpanID]string)
	in := ingest.Open(path)
	var entries []*op.Entry
	for rec, err := range in.Records() {
		check.OK(t, err)
		if rec.Entry != nil {
			e := rec.Entry.Clone()
			names[e.SpanID] = e.Operation
			entries = append(entries, e)
		}
		if rec.Span != nil {
			names[rec.Span.SpanID] = rec.Span.Name
		}
	}
	var text strings.Builder
	for _, e := range entries {
		text.WriteString(names[e.ParentSpanID] + " < ")
		e.TraceID = op.TraceID{}
		e.SpanID = op.SpanID{}
		e.ParentSpanID = op.SpanID{}
		e.RootSpanID = op.SpanID{}
		e.Start = op.Int{}
		e.Duration = 0
		text.Write(append(e.AppendJSON(nil), '\n'))
	}
	return text.String()
}

// Spans recorded by real runs have the operations of the golden files.
func TestRecorded(t *testing.T) {
	for name := range programs {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", name)
			golden.Check(t, file+".golden", transcript(t, file+".jsonl"))
		})
	}
}

// The programs still produce the recorded operations.
func TestRun(t *testing.T) {
	if !*record {
		cases.Rare(t) // compilers and SDKs take seconds
	}
	for name := range cases.Of(t, 1, slices.Sorted(maps.Keys(programs))) {
		program := programs[name]
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name+".jsonl")
			want := transcript(t, path)
			spans := program(t)
			if !*record {
				path = filepath.Join(t.TempDir(), "spans.jsonl")
			}
			check.OK(t, os.WriteFile(path, spans, 0o644))
			got := transcript(t, path)
			if name == "python" { // which operations there are depends on the version of PyTorch
				want = productsOf(want)
				got = productsOf(got)
			}
			check.Equal(t, "operations: now against recorded", want, got)
		})
	}
}

// productsOf returns the lines of a transcript with matrix products with a bias, without their parents: older versions
// of PyTorch round times to microseconds, which spoils some parents.
func productsOf(transcript string) string {
	var text strings.Builder
	for line := range strings.Lines(transcript) {
		if _, entry, ok := strings.Cut(line, " < "); ok && strings.Contains(entry, `"aten::addmm"`) {
			text.WriteString(entry)
		}
	}
	return text.String()
}

// send sends the same spans of several services to exporters.
func send(t *testing.T, exporters ...sdktrace.SpanExporter) {
	t.Helper()
	for _, service := range []string{"trainer", "server"} {
		options := []sdktrace.TracerProviderOption{sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", service), attribute.String("host.name", "node-"+service)))}
		for _, e := range exporters {
			options = append(options, sdktrace.WithBatcher(e, sdktrace.WithMaxExportBatchSize(100)))
		}
		tp := sdktrace.NewTracerProvider(options...)
		tr := tp.Tracer("engine")
		start := time.Unix(1_700_000_000, 0)
		for i := range 60 {
			at := start.Add(time.Duration(i) * time.Millisecond)
			ctx, request := tr.Start(context.Background(), "POST /", trace.WithTimestamp(at))
			for k, name := range []string{"embed", "matmul", "allreduce"} {
				_, o := tr.Start(ctx, name, trace.WithTimestamp(at.Add(time.Duration(100*k)*time.Microsecond)))
				o.SetAttributes(tensorconv.OpName(name), tensorconv.DeviceID("cuda:"+string(rune('0'+i%3))),
					tensorconv.Step(int64(i/10)),
					tensorconv.InputShapes([]int64{64, int64(k)}), tensorconv.OutputShape(64))
				o.End(trace.WithTimestamp(at.Add(time.Duration(100*k+50+i) * time.Microsecond)))
			}
			if i%7 == 0 {
				request.SetStatus(codes.Error, "bad")
			}
			request.End(trace.WithTimestamp(at.Add(900 * time.Microsecond)))
		}
		check.OK(t, tp.ForceFlush(t.Context()))
	}
	for _, e := range exporters {
		check.OK(t, e.Shutdown(t.Context()))
	}
}

// withoutInput removes the source of records from a report.
func withoutInput(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var r map[string]any
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	for _, key := range []string{"files", "format", "bytes"} {
		delete(r["input"].(map[string]any), key)
	}
	return r
}

// Spans sent by the SDK's exporters give the same report as a file of these spans.
func TestExporters(t *testing.T) {
	command := program.Optrace(t, "../..")
	exporters := map[string]func(addresses map[string]string) (sdktrace.SpanExporter, error){
		"http": func(a map[string]string) (sdktrace.SpanExporter, error) {
			return otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(a["OTLP/HTTP"]))
		},
		"http, gzip": func(a map[string]string) (sdktrace.SpanExporter, error) {
			return otlptracehttp.New(t.Context(), otlptracehttp.WithEndpointURL(a["OTLP/HTTP"]),
				otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
		},
		"grpc": func(a map[string]string) (sdktrace.SpanExporter, error) {
			return otlptracegrpc.New(t.Context(), otlptracegrpc.WithInsecure(),
				otlptracegrpc.WithEndpoint(a["OTLP/gRPC"]))
		},
		"grpc, gzip": func(a map[string]string) (sdktrace.SpanExporter, error) {
			return otlptracegrpc.New(t.Context(), otlptracegrpc.WithInsecure(),
				otlptracegrpc.WithEndpoint(a["OTLP/gRPC"]), otlptracegrpc.WithCompressor("gzip"))
		},
	}
	for name := range cases.Of(t, 2, slices.Sorted(maps.Keys(exporters))) {
		exporter := exporters[name]
		t.Run(name, func(t *testing.T) {
			addresses := serve(t, command)
			remote := check.Must(exporter(addresses))(t)
			path := filepath.Join(t.TempDir(), "spans.jsonl")
			local := check.Must(optrace.NewFileExporter(path, optrace.WithFormat(optrace.FormatOTLPJSON)))(t)
			send(t, keep{remote}, keep{local})
			check.OK(t, remote.Shutdown(t.Context()))
			check.OK(t, local.Shutdown(t.Context()))
			want := check.Must(exec.CommandContext(t.Context(), command, "report", "-json", path).Output())(t)
			answer := check.Must(http.Get(addresses["page"] + "?format=json"))(t)
			defer answer.Body.Close()
			got := check.Must(io.ReadAll(answer.Body))(t)
			offline := withoutInput(t, want)
			served := withoutInput(t, got)
			if n := offline["input"].(map[string]any)["entries"]; n != 360.0 {
				t.Fatalf("the file has %v operations", n)
			}
			check.Equal(t, "serve against file", offline, served)
		})
	}
}

// keep is an exporter for two providers, one after the other.
type keep struct{ sdktrace.SpanExporter }

func (keep) Shutdown(context.Context) error { return nil }

// The spans of the JavaScript SDK arrive at optrace serve.
func TestJavaScriptServed(t *testing.T) {
	addresses := serve(t, program.Optrace(t, "../.."))
	runJavaScript(t, strings.TrimSuffix(addresses["OTLP/HTTP"], "/v1/traces"))
	answer := check.Must(http.Get(addresses["page"] + "?format=json"))(t)
	defer answer.Body.Close()
	type operation struct {
		Operation string  `json:"operation"`
		Count     int     `json:"count"`
		Memory    int64   `json:"memory_bytes"`
		FLOPs     float64 `json:"flops"`
	}
	var report struct {
		Operations []operation `json:"operations"`
		Slowest    struct {
			Name    string `json:"name"`
			Service string `json:"service"`
		} `json:"slowest_request"`
	}
	check.OK(t, json.NewDecoder(answer.Body).Decode(&report))
	want := map[string]operation{
		"matmul": {"matmul", 1, 65536, 2 * 64 * 784 * 256}, "relu": {"relu", 1, 65536, 64 * 256},
		"sum": {"sum", 1, 4, 64 * 256},
	}
	got := make(map[string]operation)
	for _, o := range report.Operations {
		got[o.Operation] = o
	}
	check.Equal(t, "operations", want, got)
	if s := report.Slowest; s.Name != "POST /predict" || s.Service != "snippet" {
		t.Errorf("the slowest request is %q of %q", s.Name, s.Service)
	}
}

// serve starts optrace serve on free ports and returns its printed addresses by name. The end of the test interrupts it
// and checks its exit.
func serve(t *testing.T, program string) map[string]string {
	t.Helper()
	const any = "127.0.0.1:0"
	ctx := context.WithoutCancel(t.Context()) // interrupted, not killed
	cmd := exec.CommandContext(ctx, program, "serve", "-listen", any, "-otlp-http", any, "-otlp-grpc", any)
	cmd.Stderr = os.Stderr
	out := check.Must(cmd.StdoutPipe())(t)
	check.OK(t, cmd.Start())
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		check.OK(t, cmd.Process.Signal(os.Interrupt))
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve ended with %v", err)
		}
	})
	addresses := make(map[string]string)
	lines := bufio.NewScanner(out)
	for len(addresses) < 3 && lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) == 2 {
			addresses[f[0]] = f[1]
		}
	}
	return addresses
}
