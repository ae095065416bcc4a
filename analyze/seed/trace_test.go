package seed

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/op"
)

// The tests here are the reference recorder's own, about entries and traces.

// entryOf is an entry as the reference builder makes it: elements and bytes follow from the output's shape, with eight
// bytes per element.
func entryOf(operation string, us int64, output ...int64) op.Entry {
	e := op.Entry{Operation: operation, Duration: us * 1000}
	if output != nil {
		e.OutputShape = output
		e.OutputElements, _ = e.OutputShape.Elements()
		e.MemoryBytes = op.Known(8 * e.OutputElements.V)
	}
	return e
}

func traceOf(entries ...op.Entry) *Trace {
	t := &Trace{}
	for i := range entries {
		t.AddEntry(&entries[i])
	}
	return t
}

func TestEntryThroughput(t *testing.T) {
	e := entryOf("add", 100, 1000)
	if got := e.Throughput(); math.Abs(got-10) > 1e-9 {
		t.Errorf("throughput is %g elements per microsecond, want 10", got)
	}
	e = entryOf("noop", 0)
	check.Equal(t, "throughput of a zero duration", 0, e.Throughput())
	e = entryOf("unknown", 5)
	check.Equal(t, "throughput of unknown elements", 0, e.Throughput())
}

func TestTraceSums(t *testing.T) {
	long := op.Entry{Operation: "a", Duration: math.MaxInt64, MemoryBytes: op.Known(math.MaxInt64)}
	for _, test := range []struct {
		trace            *Trace
		ns, memory, peak int64
	}{
		{new(Trace), 0, 0, 0},
		{traceOf(entryOf("a", 100, 10), entryOf("b", 200, 100), entryOf("c", 0, 50)), 300_000, 1280, 800},
		{traceOf(long, long), math.MaxInt64, math.MaxInt64, math.MaxInt64}, // sums do not wrap
	} {
		tr := test.trace
		if tr.TotalDuration != test.ns || tr.TotalMemoryBytes() != test.memory || tr.PeakMemoryBytes() != test.peak {
			t.Errorf("%d ns, %d bytes, peak %d", tr.TotalDuration, tr.TotalMemoryBytes(), tr.PeakMemoryBytes())
		}
	}
}

func TestSlowestOps(t *testing.T) {
	tr := traceOf(entryOf("fast", 10), entryOf("slow", 500), entryOf("medium", 100), entryOf("tie", 100))
	check.Equal(t, "an empty trace", 0, len(new(Trace).SlowestOps(3)))
	for n, want := range map[int]string{0: "", 2: "slow medium", 3: "slow medium tie", 9: "slow medium tie fast",
		-1: ""} {
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
	check.Equal(t, "the entry after a change of the original", *optest.RichEntry(), tr.Entries[0])
}
