package seed

import (
	"fmt"
	"slices"
	"strings"

	analysis "github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/bench/workload"
	"github.com/optrace/optrace/op"
)

// What the entries are of. One entry in nine has no device.
var (
	operations = workload.OperationNames()
	devices    = []string{"cuda:0", "cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5", "cuda:6", "cuda:7"}
)

// lcg is the generator that the Rust program has too.
type lcg uint64

func (r *lcg) next() int64 {
	*r = *r*6364136223846793005 + 1442695040888963407
	return int64(*r >> 33)
}

// newColumns returns the entries that the Rust program makes.
func newColumns(n int) *analysis.Trace {
	t, random := &analysis.Trace{}, lcg(1)
	for step := range n {
		e := op.Entry{Step: op.Known(int64(step)), Operation: operations[random.next()%int64(len(operations))]}
		if d := random.next() % int64(len(devices)+1); d < int64(len(devices)) {
			e.DeviceID = devices[d]
		}
		rows := 1 + random.next()%64
		e.Duration = 2*(500+random.next()%100_000) + 1
		e.InputShapes, e.OutputShape = []op.Shape{{rows, 784}, {784, 256}}, op.Shape{rows, 256}
		e.OutputElements, e.MemoryBytes = op.Known(rows*256), op.Known(rows*256*8)
		t.AddEntry(&e)
	}
	return t
}

// The bounds of two analyses, the same in the Rust program.
const (
	least = 0.01
	top   = 10
)

// analyse makes the analyses: by operation, by device, communication, collapsed stacks, slowest. It returns what gives the
// findings in the form of the Rust program.
func analyse(t *analysis.Trace) func() []string {
	s := t
	operations, devices, communication := s.OperationSummary(), s.PerDeviceSummary(), s.CommunicationBottlenecks(least)
	stacks, slowest := s.FlamegraphCollapsed(), t.SlowestOps(top)
	return func() []string {
		ns := func(us float64) string { return fmt.Sprintf("%.0f", us*1000) }
		var byOperation, byDevice []string
		for name, s := range operations {
			byOperation = append(byOperation, fmt.Sprintf("operation %s %d %s %d", name, s.Count, ns(s.TotalDurationUS), s.TotalMemoryBytes))
		}
		for name, s := range devices {
			byDevice = append(byDevice, fmt.Sprintf("device %s %d %s %d", name, s.OpCount, ns(s.TotalDurationUS), s.TotalMemoryBytes))
		}
		slices.Sort(byOperation)
		slices.Sort(byDevice)
		lines := slices.Concat(byOperation, byDevice)
		for _, b := range communication {
			lines = append(lines, fmt.Sprintf("communication %s %d %s", b.Operation, b.CallCount, ns(b.TotalDurationUS)))
		}
		lines = append(lines, strings.Split(stacks, "\n")...)
		for _, e := range slowest {
			lines = append(lines, fmt.Sprintf("slowest %d %d", e.Step.V, e.Duration))
		}
		return lines
	}
}
