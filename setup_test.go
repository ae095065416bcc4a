package optrace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
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
	spans := &spantest.Exporter{}
	before := otel.GetTracerProvider()
	sdk, err := optrace.Setup(path,
		optrace.WithSpanExporter(spans),
		optrace.WithProcessorOptions(optrace.WithPolicy(optrace.PolicyBlock)),
		optrace.WithProviderOptions(sdktrace.WithResource(resource.NewSchemaless(tensorconv.Rank(3)))),
		nil)
	if err != nil {
		t.Fatal(err)
	}
	if otel.GetTracerProvider() != sdk.TracerProvider() {
		t.Error("the provider is not the global one")
	}
	tr := sdk.Tracer()
	ctx, request := otel.Tracer("app").Start(t.Context(), "request")
	_, o := tr.Start(ctx, "matmul", "cuda:0")
	o.End()
	request.End()
	for range 2 { // the second call does nothing
		if err := sdk.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if otel.GetTracerProvider() != before {
		t.Error("the provider before is not back")
	}
	if st := sdk.Processor().Stats(); st.Recorded != 1 || st.Written != 1 {
		t.Errorf("stats are %+v", st)
	}
	names, _ := readOps(t, path)
	if diff := cmp.Diff([]string{"matmul"}, names); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"matmul", "request"}, spans.Names()); diff != "" {
		t.Errorf("second exporter (-want +got):\n%s", diff)
	}
}

func TestSetupErrors(t *testing.T) {
	before := otel.GetTracerProvider()
	for name, opts := range map[string][]optrace.SetupOption{
		"no such directory": nil,
		"bad option":        {optrace.WithProcessorOptions(optrace.WithBufferBytes(1))},
		"bad forwarding":    {optrace.WithSpanExporter(&spantest.Exporter{}, optrace.WithBufferBytes(1))},
		"nil forwarding":    {optrace.WithSpanExporter(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ops.jsonl")
			if opts == nil {
				path = filepath.Join(path, "missing", "ops.jsonl")
			}
			sdk, err := optrace.Setup(path, opts...)
			if err == nil {
				t.Error("no error")
			}
			if sdk != nil {
				t.Errorf("a failed setup returns %v", sdk)
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
		sdk, err := optrace.Setup("")
		if err != nil {
			t.Fatal(err)
		}
		if err := sdk.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	})
	t.Run("disabled", func(t *testing.T) {
		path := filepath.Join(dir, "disabled.jsonl")
		t.Setenv("OPTRACE_DISABLED", "true")
		sdk, err := optrace.Setup(path)
		if err != nil {
			t.Fatal(err)
		}
		_, o := optrace.NewTracer(otel.GetTracerProvider()).Start(t.Context(), "matmul", "")
		if o.Span().IsRecording() {
			t.Error("an operation is recorded")
		}
		o.End()
		rec := sdk.Processor().Recorder(t.Context())
		rec.Begin("matmul", "cpu")
		rec.Finish()
		if st := sdk.Processor().Stats(); st != (optrace.Stats{}) {
			t.Errorf("stats are %+v", st)
		}
		if err := sdk.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("the file: %v, want none", err)
		}
	})
}
