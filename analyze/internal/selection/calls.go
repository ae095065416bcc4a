package selection

import (
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/trace"
)

// Again returns the calls that repeat failed ones, by row of these: the next span of their name below the same span, if it
// begins after they end.
func Again(f *trace.Forest) map[int32]int32 {
	again := make(map[int32]int32)
	hasFailed := func(r int32) bool { return f.Has(r, trace.FlagFailed) }
	for p := range f.Rows() {
		children := f.Tree.Children(p)
		if !slices.ContainsFunc(children, hasFailed) {
			continue
		}
		byStart := slices.DeleteFunc(slices.Clone(children), func(r int32) bool {
			return f.Flags(r)&(trace.FlagOp|trace.FlagStart|trace.FlagDuplicate) != trace.FlagStart
		})
		order.Rows(byStart, f.Start, f.CompareStart)
		next := make(map[int32]int32) // by name
		for _, r := range slices.Backward(byStart) {
			if n, known := next[f.Name(r)]; known && hasFailed(r) && f.End(r) <= f.Start(n) {
				again[r] = n
			}
			next[f.Name(r)] = r
		}
	}
	return again
}

// InTurn returns the time of a selected span without that in which it waits for one that begins before it, see [TurnsOf].
// Others keep their time.
func (g *Recording) InTurn(s *Set) func(r int32, ns int64) int64 {
	f := g.Forest
	var rows []int32
	for r := range f.Rows() {
		if s.Rows[r] && !f.Has(r, trace.FlagOp) {
			rows = append(rows, r)
		}
	}
	t, _ := TurnsOf(f, rows)
	return func(r int32, ns int64) int64 { return max(0, ns-t.Waits[r]) }
}

// Turns are calls that run on a few workers, in the order of their begins, such as those under a lock.
type Turns struct {
	Workers int
	Waits   map[int32]int64 // ns, by the rows of calls that wait
	alone   []int64         // durations of the others
	waited  []int64         // and of these
	behind  []int64         // their times without waits
	passed  int             // calls that end before they could have begun
}

// TurnsOf returns the turns of calls on the fewest workers that explain them, or on one and false if they run beside each other.
func TurnsOf(f *trace.Forest, calls []int32) (t Turns, ok bool) {
	const most = 4
	order.Rows(calls, f.Start, f.CompareStart)
	for n := 1; n <= most; n++ {
		if t = turnsOn(f, calls, n); t.fit() {
			return t, true
		}
	}
	return turnsOn(f, calls, 1), false
}

// turnsOn returns the turns of calls, given by start, on n workers.
func turnsOn(f *trace.Forest, calls []int32, n int) Turns {
	t := Turns{Workers: n, Waits: make(map[int32]int64)}
	free := slices.Repeat([]int64{-trace.MaxTime}, n)
	for _, r := range calls {
		from := slices.Min(free)
		switch start, end := f.Start(r), f.End(r); {
		case start < from && end <= from:
			t.passed++
			continue
		case start < from:
			t.Waits[r] = from - start
			t.behind = append(t.behind, end-from)
			t.waited = append(t.waited, end-start)
		default:
			t.alone = append(t.alone, end-start)
		}
		free[slices.Index(free, from)] = max(from, f.End(r))
	}
	return t
}

// fit reports whether calls take turns: calls that wait take, without their waits, as long as others alone. With the waits they
// are farther off, unlike calls at regular times, and no later call passes them. Few calls alone are evidence only with regular
// times behind them, and several workers only with long waits, too.
func (t *Turns) fit() bool {
	const few, rare, like, near, regular, long = 10, 20, 0.75, 0.15, 0.3, 1.5
	if len(t.behind) < few || len(t.alone) == 0 || rare*t.passed > len(t.behind)+len(t.alone) {
		return false
	}
	alone, waited, behind := median(t.alone), median(t.waited), median(t.behind)
	off := math.Abs(behind - alone)
	isRegular := float64(t.behind[len(t.behind)/rare]) >= regular*behind // sorted by median
	switch {
	case behind < like*alone || off >= math.Abs(waited-alone):
		return false
	case t.Workers > 1:
		return off <= near*alone && waited >= long*alone && isRegular
	case len(t.alone) < few/3:
		return behind <= alone/like && isRegular
	}
	return true
}

// median sorts times and returns their median, at least 1.
func median(times []int64) float64 {
	slices.Sort(times)
	return float64(max(1, times[len(times)/2]))
}
