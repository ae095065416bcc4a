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
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/spantest"
	"github.com/optrace/optrace/op/entries"
)

type flight struct {
	out  spantest.Buffer
	proc *optrace.FlightRecorder
	app  trace.Tracer
	ops  *optrace.Tracer
	tp   *sdktrace.TracerProvider
}

func newFlight(t *testing.T, n int, opts ...optrace.FlightOption) *flight {
	t.Helper()
	f := &flight{}
	exp, err := optrace.NewExporter(&f.out)
	if err != nil {
		t.Fatal(err)
	}
	if f.proc, err = optrace.NewFlightRecorder(exp, n, opts...); err != nil {
		t.Fatal(err)
	}
	f.tp = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(f.proc))
	f.app, f.ops = f.tp.Tracer("app"), optrace.NewTracer(f.tp)
	return f
}

// written returns the operations and, in angle brackets, the spans written so far.
func (f *flight) written(t *testing.T) (names []string, dropped int64) {
	t.Helper()
	for rec, err := range entries.NewReader(bytes.NewReader(f.out.Bytes()), "dump").Records() {
		switch {
		case err != nil:
			t.Fatal(err)
		case rec.Entry != nil:
			names = append(names, rec.Entry.Operation)
		case rec.Span != nil:
			names = append(names, "<"+rec.Span.Name+">")
		case rec.Gap != nil:
			dropped += rec.Gap.Dropped
		}
	}
	return names, dropped
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

func TestFlightRecorderDump(t *testing.T) {
	f := newFlight(t, 3)
	f.request(t.Context(), 5, nil)
	if names, _ := f.written(t); names != nil {
		t.Errorf("written without a dump: %v", names)
	}
	if err := f.tp.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if names, _ := f.written(t); names != nil {
		t.Errorf("written by ForceFlush: %v", names)
	}
	if err := f.proc.Dump(t.Context()); err != nil {
		t.Fatal(err)
	}
	names, dropped := f.written(t)
	if diff := cmp.Diff([]string{"op2", "op3", "op4", "<request>"}, names); diff != "" {
		t.Errorf("dump (-want +got):\n%s", diff)
	}
	if dropped != 2 {
		t.Errorf("the gap tells of %d operations, want 2", dropped)
	}
	f.request(t.Context(), 1, nil)
	if err := f.proc.Dump(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.request(t.Context(), 2, nil) // nothing calls for these
	if err := f.tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	names, _ = f.written(t)
	if diff := cmp.Diff([]string{"op2", "op3", "op4", "<request>", "op0", "<request>"}, names); diff != "" {
		t.Errorf("both dumps (-want +got):\n%s", diff)
	}
	st := f.proc.Stats()
	if st.Recorded != 8 || st.Written != 4 || st.Dropped != 4 {
		t.Errorf("stats %+v", st)
	}
	if err := f.proc.Dump(t.Context()); err != nil {
		t.Errorf("after Shutdown: %v", err)
	}
}

func TestFlightRecorderTriggers(t *testing.T) {
	for _, tt := range []struct {
		name  string
		opt   optrace.FlightOption
		cause func(*flight)
		want  bool
	}{
		{"error", optrace.WithDumpOnError(), func(f *flight) { f.request(context.Background(), 1, errors.New("boom")) }, true},
		{"no error", optrace.WithDumpOnError(), func(f *flight) { f.request(context.Background(), 1, nil) }, false},
		{"error of a recorder", optrace.WithDumpOnError(), func(f *flight) {
			rec := f.proc.Recorder(context.Background())
			rec.Begin("op0", "")
			rec.Err(errors.New("boom"))
			rec.Finish()
		}, true},
		{"slow", optrace.WithDumpOnSlow(time.Nanosecond), func(f *flight) { f.request(context.Background(), 1, nil) }, true},
		{"fast", optrace.WithDumpOnSlow(time.Hour), func(f *flight) { f.request(context.Background(), 1, nil) }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFlight(t, 8, tt.opt)
			tt.cause(f)
			// What was called for before Shutdown is written by it at the latest.
			if err := f.tp.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if names, _ := f.written(t); (len(names) > 0) != tt.want {
				t.Errorf("written: %v, want a dump: %v", names, tt.want)
			}
		})
	}
}

func TestFlightRecorderOptionErrors(t *testing.T) {
	exp, err := optrace.NewExporter(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := optrace.NewExporter(io.Discard, optrace.WithFormat(optrace.FormatOTLPJSON))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		exp  *optrace.Exporter
		n    int
		opt  optrace.FlightOption
		want string
	}{
		"no exporter":    {nil, 1, nil, "the exporter is nil"},
		"size":           {exp, 0, nil, "size 0 is not positive"},
		"negative size":  {exp, -1, nil, "size -1 is not positive"},
		"format":         {lines, 1, nil, "the format is otlp-json, it must be entries"},
		"timeout":        {exp, 1, optrace.WithExportTimeout(0), "export timeout 0s is not positive"},
		"negative cache": {exp, 1, optrace.WithCacheBytes(-1), "cache size -1 is negative"},
		"negative slow":  {exp, 1, optrace.WithDumpOnSlow(-1), "-1ns of slow local roots is negative"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := optrace.NewFlightRecorder(tt.exp, tt.n, nil, tt.opt)
			if f != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("NewFlightRecorder returns %v, %v, want %q", f, err, tt.want)
			}
		})
	}
}

func TestFlightRecorderConcurrentSafe(t *testing.T) {
	f := newFlight(t, 16, optrace.WithDumpOnError())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				f.request(t.Context(), 3, errors.New("boom"))
				if err := f.proc.Dump(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := f.tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	names, dropped := f.written(t)
	st := f.proc.Stats()
	ops := 0
	for _, n := range names {
		if n[0] != '<' {
			ops++
		}
	}
	if st.Recorded != 600 || st.Written != uint64(ops) || st.Dropped != uint64(dropped) || st.Written+st.Dropped != 600 {
		t.Errorf("stats %+v, %d operations in the file, gaps of %d", st, ops, dropped)
	}
}

// A flight recorder keeps to the bound of its memory whatever operations end, needs
// little for small ones after large ones, and nothing after a dump.
func TestM2FlightRecorderKeepsToItsBound(t *testing.T) {
	cases.Rare(t)
	cases.NotUnderRace(t, cases.OneGoroutine)
	const (
		mib = 1 << 20
		// The encoder, and a part that is used again.
		rest = mib / 2
	)
	type load struct {
		name   string
		bound  int64
		text   int // of each operation
		ended  int
		atMost int64 // the memory held by small operations that follow
	}
	for tt := range cases.Of(t, 1, []load{
		{"large", mib, 20 << 10, 5000, mib},
		{"larger than the bound", 64 << 10, 100 << 10, 200, 64 << 10},
		{"very large", 64 * mib, 6 * mib, 20, 8 * mib},
	}) {
		t.Run(tt.name, func(t *testing.T) {
			exp, err := optrace.NewExporter(io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			large := strings.Repeat("x", tt.text)
			before := int64(heapInUse())
			rec, err := optrace.NewFlightRecorder(exp, 20_000, optrace.WithBufferBytes(tt.bound), optrace.WithCacheBytes(0))
			if err != nil {
				t.Fatal(err)
			}
			check := func(when string, most int64) {
				t.Helper()
				most += rest + int64(tt.text) // of the last operation
				if held := int64(heapInUse()) - before; held > most {
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
			check("after large operations", tt.bound)
			record(20_000, "")
			check("after small operations", tt.atMost)
			if err := rec.Dump(t.Context()); err != nil {
				t.Fatal(err)
			}
			check("after a dump", 0)
			record(tt.ended, large)
			if err := rec.Dump(t.Context()); err != nil {
				t.Fatal(err)
			}
			check("after a dump of large operations", 0)
			if err := rec.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkBooks(t, "flight recorder", rec.Stats())
			runtime.KeepAlive(large)
		})
	}
}

// A bound and a number of operations that nobody has memory for cost nothing by
// themselves.
func TestM2FlightRecorderTakesWhatItNeeds(t *testing.T) {
	exp, err := optrace.NewExporter(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	before := int64(heapInUse())
	rec, err := optrace.NewFlightRecorder(exp, math.MaxInt32, optrace.WithBufferBytes(1<<50))
	if err != nil {
		t.Fatal(err)
	}
	rec.Recorder(t.Context()).Begin("matmul", "").Finish()
	if held := int64(heapInUse()) - before; held > 1<<20 {
		t.Errorf("a recorder of one operation holds %d bytes", held)
	}
	if err := rec.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A dump larger than one write has all operations, in order.
func TestM2FlightRecorderLargeDump(t *testing.T) {
	f := newFlight(t, 10_000)
	ops := f.proc.Recorder(t.Context())
	for i := range 10_000 {
		ops.Begin(strconv.Itoa(i), "").Err(errors.New(strings.Repeat("x", 500)))
	}
	ops.Finish()
	if err := f.proc.Dump(t.Context()); err != nil {
		t.Fatal(err)
	}
	names, dropped := f.written(t)
	for i, name := range names {
		if name != strconv.Itoa(i) {
			t.Fatalf("operation %d is %q", i, name)
		}
	}
	if len(names) != 10_000 || dropped != 0 || f.out.Writes() < 2 {
		t.Errorf("%d operations in %d writes, %d are lost", len(names), f.out.Writes(), dropped)
	}
	if err := f.tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}
