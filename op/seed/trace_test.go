package seed_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/seed"
)

// The tests here are those of the recorder this project started from, about
// entries and traces; names say which.

// seedEntry is an entry as the seed's builder makes it: elements and bytes follow from
// the output's shape with eight bytes per element.
func seedEntry(step int64, operation string, us int64, output ...int64) op.Entry {
	e := op.Entry{Step: op.Known(step), Operation: operation, Duration: us * 1000}
	if output != nil {
		e.OutputShape = output
		e.OutputElements, _ = e.OutputShape.Elements()
		e.MemoryBytes = op.Known(8 * e.OutputElements.V)
	}
	return e
}

func traceOf(entries ...op.Entry) *seed.Trace {
	t := &seed.Trace{}
	for i := range entries {
		t.AddEntry(&entries[i])
	}
	return t
}

func TestSeedTraceEntryThroughput(t *testing.T) {
	e := seedEntry(0, "add", 100, 1000)
	if got := e.Throughput(); math.Abs(got-10) > 1e-9 {
		t.Errorf("throughput is %g elements per microsecond, want 10", got)
	}
	e = seedEntry(0, "noop", 0)
	check.Equal(t, "throughput of a zero duration", 0, e.Throughput())
	e = seedEntry(0, "unknown", 5)
	check.Equal(t, "throughput of unknown elements", 0, e.Throughput())
}

func TestSeedTraceSums(t *testing.T) {
	long := op.Entry{Operation: "a", Duration: math.MaxInt64, MemoryBytes: op.Known(math.MaxInt64)}
	for _, test := range []struct {
		trace                *seed.Trace
		steps                int
		us                   float64
		memoryBytes, peakMem int64
	}{
		{new(seed.Trace), 0, 0, 0, 0},
		{traceOf(seedEntry(0, "a", 100, 10), seedEntry(1, "b", 200, 100), seedEntry(2, "c", 0, 50)), 3, 300, 1280, 800},
		{traceOf(long, long), 2, math.MaxInt64 / 1e3, math.MaxInt64, math.MaxInt64}, // sums do not wrap
	} {
		if tr := test.trace; tr.StepCount() != test.steps || tr.TotalDurationUS() != test.us || tr.TotalMemoryBytes() != test.memoryBytes ||
			tr.PeakMemoryBytes() != test.peakMem {
			t.Errorf("%d steps, %g us, %d bytes, peak %d", tr.StepCount(), tr.TotalDurationUS(), tr.TotalMemoryBytes(), tr.PeakMemoryBytes())
		}
	}
}

func TestSeedTraceSlowestOps(t *testing.T) {
	tr := traceOf(seedEntry(0, "fast", 10), seedEntry(1, "slow", 500), seedEntry(2, "medium", 100), seedEntry(3, "tie", 100))
	check.Equal(t, "the slowest of none", 0, len(new(seed.Trace).SlowestOps(3)))
	for n, want := range map[int]string{0: "", 2: "slow medium", 3: "slow medium tie", 9: "slow medium tie fast", -1: ""} {
		var names []string
		for _, e := range tr.SlowestOps(n) {
			names = append(names, e.Operation)
		}
		check.Equal(t, fmt.Sprintf("the %d slowest", n), want, strings.Join(names, " "))
	}
}

func TestAddEntryCopies(t *testing.T) {
	e := optest.RichEntry()
	tr := traceOf(*e)
	optest.Scribble(e)
	check.Equal(t, "the trace shares memory with what was added", *optest.RichEntry(), tr.Entries[0])
}
