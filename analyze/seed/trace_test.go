package seed

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/fulldisk"
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

func TestFiguresHaveTheReferenceJSON(t *testing.T) {
	trace := &Trace{}
	trace.AddEntry(&op.Entry{Operation: "matmul", DeviceID: "gpu:0", Duration: 300_000, MemoryBytes: op.Known(16)})
	trace.AddEntry(&op.Entry{Operation: "send", DeviceID: "gpu:1", Duration: 100_000, MemoryBytes: op.Known(16)})
	for _, tc := range []struct {
		got  any
		want string
	}{
		{trace.OperationSummary()["send"], `{"count":1,"total_duration_us":100,"total_memory_bytes":16}`},
		{trace.PerDeviceSummary()["gpu:1"], `{"op_count":1,"total_duration_us":100,"total_memory_bytes":16}`},
		{
			trace.CommunicationBottlenecks(0),
			`[{"operation":"send","total_duration_us":100,"ratio_of_total":0.25,"call_count":1}]`,
		},
		{trace.LoadBalance(), `{"device_count":2,"total_duration_us":400,"ideal_duration_us":200,` +
			`"max_duration_us":300,"imbalance_ratio":0.5,"per_device_duration_us":[["gpu:0",300],["gpu:1",100]]}`},
	} {
		got := check.Must(json.Marshal(tc.got))(t)
		check.Equal(t, "", tc.want, string(got))
	}
	want := trace.LoadBalance()
	text := check.Must(json.Marshal(want))(t)
	var got *Balance
	check.OK(t, json.Unmarshal(text, &got))
	check.Equal(t, "", want, got)
	for _, bad := range []string{`"gpu:0"`, `[1,2]`, `["gpu:0"]`, `["a",1,2]`} {
		check.Says(t, fmt.Sprintf("%s reads without an error", bad), "",
			json.Unmarshal([]byte(bad), new(DeviceDuration)))
	}
}

func text(t *testing.T, s *Stacks) string {
	t.Helper()
	var b bytes.Buffer
	check.OK(t, s.Write(&b))
	return b.String()
}

func TestStacksWriteError(t *testing.T) {
	var s Stacks
	s.Add(&op.Entry{Operation: "matmul", Duration: 1000})
	check.Is(t, "Write", fulldisk.Err, s.Write(&fulldisk.Writer{}))
}

// Whatever the names are, each line is three frames and a weight.
func FuzzStacksWrite(f *testing.F) {
	for _, name := range []string{"", "a", "a;b", "a b", "line\nbreak", "tab\t", "\x00\x1b[31m", "\xff\xfe", "\u2028",
		"x 5", "trace;5 5"} {
		f.Add(name, "cuda:0")
		f.Add("matmul", name)
	}
	f.Fuzz(func(t *testing.T, name, device string) {
		var s Stacks
		s.Add(&op.Entry{Operation: name, DeviceID: device, Duration: 7000})
		want := "trace;" + stacks.Collapse(cmp.Or(device, unknownDevice)) + ";" + stacks.Collapse(name) + " 7\n"
		got := text(t, &s)
		if got != want || strings.Count(got, ";") != 2 || strings.IndexFunc(got, unicode.IsControl) != len(got)-1 {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
