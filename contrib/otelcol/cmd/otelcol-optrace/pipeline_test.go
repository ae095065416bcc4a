package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/collector/featuregate"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/contrib/otelcol/internal/pdatatest"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// pipelines is a configuration with all that the distribution has: spans and profiles come by HTTP to
// the first address; metrics and profiles are sent to the second one.
const pipelines = `
receivers:
  otlp:
    protocols:
      http:
        endpoint: %[1]s
processors:
  batch:
    send_batch_size: 100
exporters:
  optrace:
    path: %[3]s/ops.jsonl
  otlp_http:
    endpoint: http://%[2]s
  otlp_http/calls:
    metrics_endpoint: http://%[2]s/calls
  debug:
connectors:
  operations:
    flush_interval: 1h
  span_metrics:
    metrics_flush_interval: 20ms
    aggregation_temporality: AGGREGATION_TEMPORALITY_DELTA
service:
  telemetry:
    metrics:
      level: none
    logs:
      level: warn
  pipelines:
    traces:
      receivers: [otlp]
      processors: [batch]
      exporters: [optrace, debug, operations, span_metrics]
    metrics:
      receivers: [operations]
      exporters: [otlp_http]
    metrics/calls:
      receivers: [span_metrics]
      exporters: [otlp_http/calls]
    profiles:
      receivers: [otlp, operations]
      exporters: [otlp_http]
`

// Spans that a program sends to the Collector become files, metrics and profiles that say
// what the offline report says of the same spans.
func TestPipelines(t *testing.T) {
	allowProfiles(t)
	dir, to, address := t.TempDir(), newBackend(t), freeAddress(t)
	config := filepath.Join(dir, "config.yaml")
	check.OK(t, os.WriteFile(config, fmt.Appendf(nil, pipelines, address, to.address, dir), 0o600))
	stop := start(t, config)
	sent := record(t, address)
	calls := 0.0
	for range 1000 { // the other connector sends nothing when it ends
		if calls = sumOf(to.of("/calls"), "traces.span.metrics.calls"); calls >= requests*(perRequest+1) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop() // ours does

	opts := analyze.Options{Workers: 1, RecordedFLOPs: true}
	want := pdatatest.Report(t, opts, sent)
	if want.Total.Count != requests*perRequest {
		t.Fatalf("%d operations were recorded", want.Total.Count)
	}
	got := check.Must(analyze.Run(t.Context(), ingest.Open(filepath.Join(dir, "ops.jsonl")), opts))(t)
	check.Equal(t, "report of the file against that of the spans", want, got, cmpopts.IgnoreFields(analyze.Report{}, "Input"))
	compareMetrics(t, want, to.of("/v1/metrics"))
	if calls != requests*(perRequest+1) {
		t.Errorf("span_metrics counts %v spans, of %d operations and %d requests", calls, want.Total.Count, requests)
	}
	samples := pdatatest.Sums(to.asProfiles...) // nothing comes any more
	if samples["count"] != want.Total.Count || samples["bytes"] != want.Total.MemoryBytes.V || samples["flops"] != want.Total.FLOPs {
		t.Errorf("the profiles have %v, the report %+v", samples, want.Total)
	}
}

func compareMetrics(t *testing.T, want *analyze.Report, got []pmetric.Metrics) {
	t.Helper()
	var busy int64
	for _, d := range want.Devices {
		busy += d.BusyNS.V
	}
	for name, sum := range map[string]float64{
		"tensor.op.duration":      float64(want.Total.SumNS) / 1e9,
		"tensor.op.memory":        float64(want.Total.MemoryBytes.V),
		"tensor.op.flops":         float64(want.Total.FLOPs),
		"tensor.device.busy_time": float64(busy) / 1e9,
	} {
		if found := sumOf(got, name); sum == 0 || !cmp.Equal(sum, found, cmpopts.EquateApprox(1e-9, 0)) {
			t.Errorf("%s adds up to %v, want %v", name, found, sum)
		}
	}
}

// What is recorded.
const (
	requests   = 5
	perRequest = 60
)

// record records operations, sends them to the Collector with OpenTelemetry's exporter,
// and returns their spans.
func record(t *testing.T, address string) ptrace.Traces {
	t.Helper()
	exp := check.Must(otlptracehttp.New(t.Context(), otlptracehttp.WithInsecure(), otlptracehttp.WithEndpoint(address)))(t)
	var kept spantest.Exporter
	tp := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exp, sdktrace.WithBlocking(), sdktrace.WithMaxExportBatchSize(64)), sdktrace.WithSyncer(&kept),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "trainer"), tensorconv.Rank(3))))
	tracer := optrace.NewTracer(tp)
	at := time.Date(2026, 3, 1, 12, 0, 0, 123, time.UTC)
	for r := range requests {
		ctx, request := tp.Tracer("http").Start(t.Context(), "POST /generate")
		for i := range perRequest {
			device := fmt.Sprint("cuda:", i%2)
			name := []string{"matmul", "softmax", "all_reduce"}[i%3]
			_, o := tracer.StartAt(ctx, name, device, at.UnixNano())
			o.In(64, int64(8<<r)).In(int64(8<<r), 256).Out(64, 256).DType(op.F32).FLOPs(int64(1000 * i)).Stream(int64(i % 4))
			if i == 7 {
				o.Err(os.ErrDeadlineExceeded)
			}
			o.EndAt(at.UnixNano() + int64(1+i*i)*1000)
			at = at.Add(700 * time.Microsecond)
		}
		request.End()
	}
	check.OK(t, tp.Shutdown(t.Context()))
	var client spantest.OTLPClient
	check.OK(t, otlptrace.NewUnstarted(&client).ExportSpans(t.Context(), kept.Spans()))
	text := check.Must(proto.Marshal(&tracepb.TracesData{ResourceSpans: client.Sent}))(t)
	var u ptrace.ProtoUnmarshaler
	return check.Must(u.UnmarshalTraces(text))(t)
}

// allowProfiles lets pipelines have profiles, which are experimental, until the test ends.
func allowProfiles(t *testing.T) {
	t.Helper()
	const gate = "service.profilesSupport"
	check.OK(t, featuregate.GlobalRegistry().Set(gate, true))
	t.Cleanup(func() {
		check.OK(t, featuregate.GlobalRegistry().Set(gate, false))
	})
}

// freeAddress returns an address of this machine that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l := check.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}
