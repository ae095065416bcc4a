package optrace_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
)

type flight struct {
	out  spantest.Buffer
	proc *optrace.Processor
	app  trace.Tracer
	ops  *optrace.Tracer
}

func newFlight(t *testing.T, n int, opts ...optrace.ProcessorOption) *flight {
	t.Helper()
	f := &flight{}
	f.proc = check.Must(optrace.NewFlightRecorder(newExporter(t, &f.out), n, opts...))(t)
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(f.proc))
	f.app = tp.Tracer("app")
	f.ops = optrace.NewTracer(tp)
	return f
}

// request makes a request of n operations.
func (f *flight) request(ctx context.Context, n int, err error) {
	ctx, span := f.app.Start(ctx, "request")
	for i := range n {
		_, o := f.ops.Start(ctx, "op"+strconv.Itoa(i), "cuda:0")
		o.Err(err).End()
	}
	span.End()
}

// Dump and WriteTo of another Processor are errors.
func TestDumpOfAnotherProcessor(t *testing.T) {
	p := newProcessor(t, newExporter(t, io.Discard))
	check.Says(t, "Dump", "not a flight recorder", p.Dump(t.Context()))
	_, err := p.WriteTo(io.Discard)
	check.Says(t, "WriteTo", "not a flight recorder", err)
	shutdown(t, p)
}

// WriteTo writes a complete file to another writer. Operations that the writer does not take are dropped.
func TestFlightRecorderWriteTo(t *testing.T) {
	f := newFlight(t, 3)
	f.request(t.Context(), 5, nil)
	var out bytes.Buffer
	check.Equal(t, "bytes", check.Must(f.proc.WriteTo(&out))(t), int64(out.Len()))
	rec := spantest.ReadWhole(t, out.Bytes())
	rec.CheckBatches(t)
	check.Equal(t, "entries, spans and resources", [3]int{3, 1, 1},
		[3]int{len(rec.Entries), len(rec.Spans), len(rec.Resources)})
	f.request(t.Context(), 1, nil)
	_, err := f.proc.WriteTo(spantest.WriterFunc(func([]byte) (int, error) { return 0, errDisk }))
	check.Is(t, "a writer that fails", errDisk, err)
	shutdown(t, f.proc)
	check.Equal(t, "bytes after Shutdown", 0, check.Must(f.proc.WriteTo(&out))(t))
	rec = spantest.ReadWhole(t, f.out.Bytes())
	check.Equal(t, "entries and spans behind the exporter", [2]int{}, [2]int{len(rec.Entries), len(rec.Spans)})
	check.Equal(t, "stats", optrace.Stats{Recorded: 6, Written: 3, Dropped: 3, Skipped: 2}, f.proc.Stats())
}

// A flight recorder keeps to its bound, needs little memory for small operations after large ones, and releases it
// after a dump. See docs/reliability.md.
func TestFlightRecorderKeepsToItsBound(t *testing.T) {
	cases.Rare(t)
	cases.NotUnderRace(t, cases.OneGoroutine)
	const (
		mib = 1 << 20
		// The traces remembered (512 KiB), the encoder and a reused part.
		rest = 3 * mib / 4
	)
	type load struct {
		name   string
		bound  int64
		text   int // bytes in each operation
		ended  int
		atMost int64 // memory for later small operations
	}
	for tt := range cases.Of(t, 1, []load{
		{"large", mib, 20 << 10, 5000, mib},
		{"larger than the bound", 64 << 10, 100 << 10, 200, 64 << 10},
		{"very large", 64 * mib, 6 * mib, 20, 8 * mib},
	}) {
		t.Run(tt.name, func(t *testing.T) {
			exp := newExporter(t, io.Discard)
			large := strings.Repeat("x", tt.text)
			before := check.Heap()
			rec := check.Must(optrace.NewFlightRecorder(exp, 20_000, optrace.WithMaxBytes(tt.bound),
				optrace.WithCacheBytes(0)))(t)
			verify := func(when string, most int64) {
				t.Helper()
				most += rest + int64(tt.text) // the last operation
				if held := check.Heap() - before; held > most {
					t.Errorf("%s: %d KiB are held, want %d at most", when, held>>10, most>>10)
				}
			}
			record := func(n int, text string) {
				ops := rec.Recorder(t.Context())
				for i := range n {
					ops.Begin("matmul", "cuda:0").Err(errors.New(text + strconv.Itoa(i)))
					ops.Finish()
				}
			}
			record(tt.ended, large)
			verify("after large operations", tt.bound)
			record(20_000, "")
			verify("after small operations", tt.atMost)
			check.OK(t, rec.Dump(t.Context()))
			verify("after a dump", 0)
			record(tt.ended, large)
			check.OK(t, rec.Dump(t.Context()))
			verify("after a dump of large operations", 0)
			shutdown(t, rec)
			checkBooks(t, "flight recorder", rec.Stats())
			runtime.KeepAlive(large)
		})
	}
}

// A large bound and a large number of operations cost memory only when used.
func TestFlightRecorderTakesWhatItNeeds(t *testing.T) {
	exp := newExporter(t, io.Discard)
	before := check.Heap()
	rec := check.Must(optrace.NewFlightRecorder(exp, math.MaxInt32, optrace.WithMaxBytes(1<<50)))(t)
	rec.Recorder(t.Context()).Begin("matmul", "").Finish()
	if held := check.Heap() - before; held > 1<<20 {
		t.Errorf("a recorder of one operation holds %d bytes", held)
	}
	shutdown(t, rec)
}
