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
	"github.com/optrace/optrace/internal/testing/producer"
)

// TestMain fails where a test leaves a goroutine behind. As a child process it
// records instead, see package producer.
func TestMain(m *testing.M) {
	producer.Main()
	goleak.VerifyTestMain(m)
}

// checkBooks checks that after Shutdown every operation is written or dropped.
func checkBooks(tb testing.TB, what string, st optrace.Stats) {
	tb.Helper()
	if st.Recorded != st.Written+st.Dropped {
		tb.Errorf("%s: recorded %d, but written %d + dropped %d = %d",
			what, st.Recorded, st.Written, st.Dropped, st.Written+st.Dropped)
	}
}

// newExporter returns an exporter to w.
func newExporter(tb testing.TB, w io.Writer, opts ...optrace.ExporterOption) *optrace.Exporter {
	tb.Helper()
	return check.Must(optrace.NewExporter(w, opts...))(tb)
}

// newProcessor returns a processor that the test shuts down.
func newProcessor(tb testing.TB, exp *optrace.Exporter, opts ...optrace.ProcessorOption) *optrace.Processor {
	tb.Helper()
	return check.Must(optrace.NewProcessor(exp, opts...))(tb)
}

// newForwarder returns a forwarder that the test shuts down.
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

// childVariable tells a process that it is a child of a test, and what it is to do.
const childVariable = "OPTRACE_TEST_CHILD"

// child returns a process that runs the test once more, with what it is to do.
func child(t *testing.T, what string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), childVariable+"="+what)
	return cmd
}

// shutdown ends what has a Shutdown, and checks that it reports no error.
func shutdown(tb testing.TB, s interface{ Shutdown(context.Context) error }) {
	tb.Helper()
	if err := s.Shutdown(context.Background()); err != nil {
		tb.Error(err)
	}
}

// cancelled returns a context that is done.
func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// flush flushes what has a ForceFlush.
func flush(tb testing.TB, f interface{ ForceFlush(context.Context) error }) {
	tb.Helper()
	check.OK(tb, f.ForceFlush(context.Background()))
}
