package optrace_test

import (
	"fmt"
	"io"
	"os"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/producer"
)

// TestMain fails where a test leaves a goroutine behind. As a child process it
// records instead.
func TestMain(m *testing.M) {
	if path := os.Getenv(recordingChildFile); path != "" {
		os.Exit(recordAsChild(path, os.Getenv(recordingChildEnd)))
	}
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
	exp, err := optrace.NewExporter(w, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return exp
}

// newProcessor returns a processor that the test shuts down.
func newProcessor(tb testing.TB, exp *optrace.Exporter, opts ...optrace.ProcessorOption) *optrace.Processor {
	tb.Helper()
	p, err := optrace.NewProcessor(exp, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// newForwarder returns a forwarder that the test shuts down.
func newForwarder(tb testing.TB, next sdktrace.SpanExporter, opts ...optrace.ForwarderOption) *optrace.Processor {
	tb.Helper()
	p, err := optrace.NewForwarder(next, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

var errDisk = fmt.Errorf("no space left on device")
