package optrace_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/check"
)

// TestMain fails if a test leaves a goroutine. In a child process it records instead; see produce.
func TestMain(m *testing.M) {
	produce()
	goleak.VerifyTestMain(m)
}

// checkBooks checks that after Shutdown Recorded is Written plus Dropped.
func checkBooks(tb testing.TB, what string, st optrace.Stats) {
	tb.Helper()
	if st.Recorded != st.Written+st.Dropped {
		tb.Errorf("%s: recorded %d, but written %d + dropped %d = %d",
			what, st.Recorded, st.Written, st.Dropped, st.Written+st.Dropped)
	}
}

func newExporter(tb testing.TB, w io.Writer, opts ...optrace.ExporterOption) *optrace.Exporter {
	tb.Helper()
	return check.Must(optrace.NewExporter(w, opts...))(tb)
}

// newProcessor returns a processor for the test to shut down.
func newProcessor(tb testing.TB, exp *optrace.Exporter, opts ...optrace.ProcessorOption) *optrace.Processor {
	tb.Helper()
	return check.Must(optrace.NewProcessor(exp, opts...))(tb)
}

// newForwarder returns a forwarder for the test to shut down.
func newForwarder(tb testing.TB, next sdktrace.SpanExporter, opts ...optrace.ProcessorOption) *optrace.Processor {
	tb.Helper()
	return check.Must(optrace.NewForwarder(next, opts...))(tb)
}

var errDisk = fmt.Errorf("no space left on device")

func newFile(tb testing.TB, path string, opts ...optrace.ExporterOption) *optrace.Exporter {
	tb.Helper()
	return check.Must(optrace.NewFileExporter(path, opts...))(tb)
}

func export(tb testing.TB, exp sdktrace.SpanExporter, spans ...sdktrace.ReadOnlySpan) {
	tb.Helper()
	check.OK(tb, exp.ExportSpans(context.Background(), spans))
}

// childVariable is set in child processes of a test and holds their task.
const childVariable = "OPTRACE_TEST_CHILD"

// child returns a process that runs the same test with a task.
func child(t *testing.T, what string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), childVariable+"="+what)
	return cmd
}

// shutdown checks that Shutdown returns no error.
func shutdown(tb testing.TB, s interface{ Shutdown(context.Context) error }) {
	tb.Helper()
	if err := s.Shutdown(context.Background()); err != nil {
		tb.Error(err)
	}
}

func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func flush(tb testing.TB, f interface{ ForceFlush(context.Context) error }) {
	tb.Helper()
	check.OK(tb, f.ForceFlush(context.Background()))
}
