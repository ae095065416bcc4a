package pipeline

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.uber.org/goleak"

	"github.com/optrace/optrace/internal/record/encoding/entries"
	"github.com/optrace/optrace/internal/record/sink"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
)

// TestMain fails if a test leaves a goroutine behind. Errors provoked by tests are not logged.
func TestMain(m *testing.M) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	goleak.VerifyTestMain(m)
}

// newOutput returns an Output for entries to w.
func newOutput(tb testing.TB, w io.Writer) Output {
	tb.Helper()
	s := check.Must(sink.New(sink.ToWriter(w), entries.Format, sink.None, nil))(tb)
	return Output{Sink: s, Traces: new(traces.WithOps), Format: entries.Format}
}

// newConfig returns a configuration with the smallest buffers and an interval longer than any test.
func newConfig(policy Policy) Config {
	return Config{Policy: policy, MaxBytes: MinMaxBytes, FlushInterval: 100 * time.Hour, ExportTimeout: 50 * time.Hour}
}

// useOneShard gives pipelines of a test one shard, for a fixed order of records.
func useOneShard(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

func ended(s sdktrace.ReadOnlySpan) span.Ended {
	return span.Ended{Span: s, Context: s.SpanContext(), Parent: s.Parent()}
}

// written is the content of an output.
type written struct {
	Steps []int64          // of the entries
	Spans []string         // names of the spans above operations
	Gaps  map[string]int64 // operations dropped, by reason
}

func read(tb testing.TB, content []byte) (w written) {
	tb.Helper()
	rec := spantest.ReadWhole(tb, content)
	w.Steps = rec.Steps()
	for i := range rec.Spans {
		w.Spans = append(w.Spans, rec.Spans[i].Name)
	}
	for _, g := range rec.Gaps {
		if w.Gaps == nil {
			w.Gaps = make(map[string]int64)
		}
		w.Gaps[g.Reason] += g.Dropped
	}
	return w
}

// ints returns the numbers from first to last.
func ints(first, last int64) (all []int64) {
	for i := first; i <= last; i++ {
		all = append(all, i)
	}
	return all
}

func checkStats(tb testing.TB, got, want Stats) {
	tb.Helper()
	if got.Exported < got.Written || got.Lost > got.Dropped || got.Exported+got.Lost > got.Recorded ||
		got.Written+got.Dropped == got.Recorded && got.Exported+got.Lost != got.Recorded {
		tb.Errorf("stats do not add up: %+v", got)
	}
	got.Exported = want.Exported
	got.Lost = want.Lost
	check.Equal(tb, "stats", want, got)
}

func stop(tb testing.TB, p Pipeline, s *sink.Sink) {
	tb.Helper()
	check.OK(tb, p.Stop(context.Background()))
	if s != nil {
		check.OK(tb, s.Shutdown(context.Background()))
	}
}

func TestPolicyString(t *testing.T) {
	for policy, want := range map[Policy]string{
		DropNewest: "drop-newest", DropOldest: "drop-oldest", Block: "block", 9: "Policy(9)",
	} {
		check.Equal(t, fmt.Sprintf("%d is called", uint8(policy)), want, policy.String())
	}
}
