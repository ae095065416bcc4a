package snippets

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
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
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/program"
	"github.com/optrace/optrace/tensorconv"
)

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
				otlptracegrpc.WithEndpoint(a["OTLP/gRPC"]),
				otlptracegrpc.WithCompressor("gzip"))
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
