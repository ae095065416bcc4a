package optrace_test

import (
	"errors"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/cases"
)

// A flight recorder keeps to the bound of its memory whatever operations end, needs
// little for small ones after large ones, and nothing after a dump.
func TestM2FlightRecorderKeepsToItsBound(t *testing.T) {
	cases.NotUnderRace(t, cases.OneGoroutine)
	const (
		mib = 1 << 20
		// The encoder, and a part that is used again.
		rest = mib / 2
	)
	for _, tt := range []struct {
		name   string
		bound  int64
		text   int // of each operation
		ended  int
		atMost int64 // the memory held by small operations that follow
	}{
		{"large", mib, 20 << 10, 5000, mib},
		{"larger than the bound", 64 << 10, 100 << 10, 200, 64 << 10},
		{"very large", 64 * mib, 6 * mib, 20, 8 * mib},
	} {
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
