package hostcalls

import (
	"fmt"

	"github.com/optrace/optrace/analyze/internal/selection"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/text/units"
)

// OfRequests returns the spans of requests with nothing below them, beside executions and queues, by name.
func OfRequests(f *trace.Forest) map[string][]int32 {
	owners, calls := f.RequestOwners(), make(map[string][]int32)
	for r := range f.Rows() {
		isPlaced := f.Flags(r)&(trace.FlagOp|trace.FlagStart|trace.FlagDuplicate) == trace.FlagStart
		if isPlaced && f.Tree.Parent[r] != trace.NoRow && f.ExecutionOf(r, owners) == trace.NoExecution &&
			len(f.Tree.Children(r)) == 0 && !requests.IsWait(f.RowName(r)) {
			calls[f.RowName(r)] = append(calls[f.RowName(r)], r)
		}
	}
	return calls
}

// Turns are calls that run one at a time, such as under a lock, or on a few workers.
type Turns struct{ Calls, Waited, WaitedNS, NS, Workers int64 }

// TurnsOf returns the turns of calls, or false if they run beside each other.
func TurnsOf(f *trace.Forest, calls []int32) (t Turns, ok bool) {
	of, ok := selection.TurnsOf(f, calls)
	for _, r := range calls {
		t.NS += f.Duration(r)
		t.WaitedNS += of.Waits[r]
	}
	t.Calls, t.Waited, t.Workers = int64(len(calls)), int64(len(of.Waits)), int64(of.Workers)
	return t, ok
}

// Says returns what a finding says of the calls.
func (t *Turns) Says(name string) string {
	most, before := "one", "the one before"
	if t.Workers > 1 {
		most, before = "at most "+units.Count(t.Workers), "those before"
	}
	return fmt.Sprintf("%s runs %s at a time: %s of %s wait for %s, %s of %s.", name, most, units.Count(t.Waited),
		units.Plural(t.Calls, "call"), before, units.Duration(t.WaitedNS), units.Duration(t.NS))
}
