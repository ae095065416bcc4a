package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.uber.org/goleak"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/contrib/otelcol/internal/pdatatest"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
)

func TestExamplesAreValid(t *testing.T) {
	check.OK(t, validate(t, "../../examples/config.yaml"))
}

// The configurations of the README are valid.
func TestREADME(t *testing.T) {
	text := check.Must(os.ReadFile("../../README.md"))(t)
	n := 0
	for part := range strings.SplitSeq(string(text), "```yaml\n") {
		yaml, _, ok := strings.Cut(part, "```")
		if n++; !ok || n == 1 {
			continue
		}
		if err := validate(t, "../../examples/config.yaml", "yaml:"+yaml); err != nil {
			t.Errorf("%v\n%s", err, yaml)
		}
	}
	if n != 3 {
		t.Errorf("%d configurations, want 2", n-1)
	}
}

// validate checks configurations like the command validate.
func validate(t *testing.T, uris ...string) error {
	t.Helper()
	c := check.Must(otelcol.NewCollector(settings(uris...)))(t)
	return c.DryRun(t.Context())
}

// start runs a Collector in this process until stop is called or the test ends.
func start(t *testing.T, uris ...string) (stop func()) {
	t.Helper()
	c := check.Must(otelcol.NewCollector(settings(uris...)))(t)
	done := make(chan error, 1)
	go func() { done <- c.Run(context.WithoutCancel(t.Context())) }()
	stop = sync.OnceFunc(func() {
		c.Shutdown()
		check.OK(t, <-done)
	})
	t.Cleanup(stop)
	for deadline := time.Now().Add(30 * time.Second); c.GetState() != otelcol.StateRunning; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the Collector does not start")
		}
		select {
		case err := <-done:
			done <- nil
			t.Fatal(err)
		default:
		}
	}
	return stop
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend keeps the metrics that are sent to it. It is safe for concurrent use.
type backend struct {
	address string

	mu     sync.Mutex
	byPath map[string][]pmetric.Metrics
}

func newBackend(t *testing.T) *backend {
	t.Helper()
	b := &backend{byPath: make(map[string][]pmetric.Metrics)}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := b.take(r.URL.Path, check.Gunzip(t, r.Body)); err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
	}))
	t.Cleanup(server.Close)
	b.address = strings.TrimPrefix(server.URL, "http://")
	return b
}

func (b *backend) take(path string, text []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	request := pmetricotlp.NewExportRequest()
	err := request.UnmarshalProto(text)
	b.byPath[path] = append(b.byPath[path], request.Metrics())
	return err
}

// of returns the metrics sent to a path.
func (b *backend) of(path string) []pmetric.Metrics {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.byPath[path]
}

// sumOf adds up the points of a metric, a counter of integers or a histogram.
func sumOf(all []pmetric.Metrics, name string) (sum float64) {
	for _, ms := range all {
		for _, rm := range ms.ResourceMetrics().All() {
			for _, sm := range rm.ScopeMetrics().All() {
				for _, m := range sm.Metrics().All() {
					switch {
					case m.Name() != name:
					case m.Type() == pmetric.MetricTypeExponentialHistogram:
						for _, p := range m.ExponentialHistogram().DataPoints().All() {
							sum += p.Sum()
						}
					default:
						for _, p := range m.Sum().DataPoints().All() {
							sum += float64(p.IntValue())
						}
					}
				}
			}
		}
	}
	return sum
}

// Spans of a program become files and metrics with the figures of the offline report on the same spans.
func TestPipelines(t *testing.T) {
	dir, to, address := t.TempDir(), newBackend(t), freeAddress(t)
	config := filepath.Join(dir, "config.yaml")
	pipelines := string(check.Must(os.ReadFile("testdata/pipelines.yaml"))(t))
	addresses := strings.NewReplacer("OTLP_ADDRESS", address, "METRICS_ADDRESS", to.address, "OUTPUT", dir)
	check.OK(t, os.WriteFile(config, []byte(addresses.Replace(pipelines)), 0o600))
	stop := start(t, config)
	sent := pdatatest.Training(t, 1, 2, 5)
	for _, td := range sent {
		message := bytes.NewReader(pdatatest.Proto(t, td))
		answer := check.Must(http.Post("http://"+address+"/v1/traces", "application/x-protobuf", message))(t)
		check.OK(t, answer.Body.Close())
		check.Equal(t, "status", http.StatusOK, answer.StatusCode)
	}
	http.DefaultClient.CloseIdleConnections()
	const spans, operations = 2 * 5 * 41, 2 * 5 * 40
	calls := 0.0
	for range 1000 { // the other connector does not flush at its end
		if calls = sumOf(to.of("/calls"), "traces.span.metrics.calls"); calls >= spans {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop() // ours does

	opts := analyze.Options{Workers: 1}
	want := pdatatest.Report(t, opts, sent...)
	if want.Input.Entries != operations || calls != spans {
		t.Fatalf("%d operations of %d; span_metrics counts %v spans of %d", want.Input.Entries, operations, calls,
			spans)
	}
	got := check.Must(analyze.Run(t.Context(), ingest.Open(filepath.Join(dir, "ops.jsonl")), opts))(t)
	check.Equal(t, "report of the file against that of the spans", want, got,
		cmpopts.IgnoreFields(analyze.Report{}, "Input"))
	duration := 0.0 // package optraceconnector compares all figures
	for _, o := range want.Operations {
		duration += float64(o.SumNS) / 1e9
	}
	check.Equal(t, "the metric of durations adds up to", duration, sumOf(to.of("/v1/metrics"), "tensor.op.duration"),
		cmpopts.EquateApprox(1e-9, 0))
}

// freeAddress returns an address of this machine that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l := check.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}
