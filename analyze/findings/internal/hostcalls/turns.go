package hostcalls

import (
	"slices"

	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
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

// Turns are calls that run one at a time, such as those under a lock: each that begins while others run ends after all of
// these, and as long after as a call takes alone.
type Turns struct{ Calls, Waited, WaitedNS, NS int64 }

// TurnsOf returns the turns of calls, or false if they run beside each other.
func TurnsOf(f *trace.Forest, calls []int32) (t Turns, ok bool) {
	const few, rare, like = 10, 20, 0.75
	slices.SortFunc(calls, f.CompareStart)
	var alone, behind []int64
	passed := 0 // by later ones
	end := int64(0)
	for _, r := range calls {
		t.NS += f.Duration(r)
		switch start := f.Start(r); {
		case f.End(r) < end:
			passed++
		case start < end:
			t.WaitedNS += end - start
			behind = append(behind, f.End(r)-end)
		default:
			alone = append(alone, f.Duration(r))
		}
		end = max(end, f.End(r))
	}
	t.Calls, t.Waited = int64(len(calls)), int64(len(behind))
	if len(behind) < few || len(alone) < few/3 || rare*passed > len(calls) {
		return t, false
	}
	return t, float64(sketch.Median(behind)) >= like*float64(sketch.Median(alone))
}
