package optrace_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// readOps returns the names of the operations in a file and how many were lost.
func readOps(t *testing.T, path string) (names []string, dropped int64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for rec, err := range op.NewReader(f, path).Records() {
		switch {
		case err != nil:
			t.Error(err)
		case rec.Entry != nil:
			names = append(names, rec.Entry.Operation)
		case rec.Gap != nil:
			dropped += rec.Gap.Dropped
		}
	}
	return names, dropped
}

func TestSetup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	spans := &retaining{}
	before := otel.GetTracerProvider()
	shutdown, err := optrace.Setup(path,
		optrace.WithSpanExporter(spans),
		optrace.WithProcessorOptions(optrace.WithPolicy(optrace.Block)),
		optrace.WithProviderOptions(sdktrace.WithResource(resource.NewSchemaless(tensorconv.Rank(3)))),
		nil)
	if err != nil {
		t.Fatal(err)
	}
	tr := optrace.NewTracer(otel.GetTracerProvider())
	ctx, request := otel.Tracer("app").Start(t.Context(), "request")
	_, o := tr.Start(ctx, "matmul", "cuda:0")
	o.End()
	request.End()
	for range 2 { // the second call does nothing
		if err := shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if otel.GetTracerProvider() != before {
		t.Error("the provider before is not back")
	}
	names, _ := readOps(t, path)
	if diff := cmp.Diff([]string{"matmul"}, names); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"matmul", "request"}, spans.names()); diff != "" {
		t.Errorf("second exporter (-want +got):\n%s", diff)
	}
}

func TestSetupErrors(t *testing.T) {
	before := otel.GetTracerProvider()
	for name, opts := range map[string][]optrace.SetupOption{
		"no such directory": nil,
		"bad option":        {optrace.WithProcessorOptions(optrace.WithMaxBytes(1))},
		"bad forwarding":    {optrace.WithSpanExporter(&retaining{}, optrace.WithMaxBytes(1))},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ops.jsonl")
			if opts == nil {
				path = filepath.Join(path, "missing", "ops.jsonl")
			}
			shutdown, err := optrace.Setup(path, opts...)
			if err == nil {
				t.Error("no error")
			}
			if err := shutdown(context.Background()); err != nil {
				t.Errorf("the shutdown function of a failed setup: %v", err)
			}
			if otel.GetTracerProvider() != before {
				t.Error("a failed setup changed the provider")
			}
		})
	}
}

func TestSetupEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Run("file", func(t *testing.T) {
		path := filepath.Join(dir, "named.jsonl")
		t.Setenv("OPTRACE_FILE", path)
		shutdown, err := optrace.Setup("")
		if err != nil {
			t.Fatal(err)
		}
		if err := shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	})
	t.Run("disabled", func(t *testing.T) {
		path := filepath.Join(dir, "disabled.jsonl")
		t.Setenv("OPTRACE_DISABLED", "true")
		shutdown, err := optrace.Setup(path)
		if err != nil {
			t.Fatal(err)
		}
		_, o := optrace.NewTracer(otel.GetTracerProvider()).Start(t.Context(), "matmul", "")
		if o.Span().IsRecording() {
			t.Error("an operation is recorded")
		}
		o.End()
		if err := shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("the file: %v, want none", err)
		}
	})
}
