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
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
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
