package hostcalls

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/selection"
	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/text/units"
)

// Slow sums up the calls of a name that take many times the usual time, fail after such a time, or fail and are called again.
type Slow struct {
	Name       string
	Count, Sum int64
	Usual, All int64  // the median and the number of all calls of the name
	Error      string // of failed calls
	// IsRepeated reports whether they are called again: in all PauseNS after their ends, by spans such as In.
	IsRepeated bool
	PauseNS    int64
	In         string
}

// Says returns what a finding says of the calls, and its advice, by the name of a span in text.
func (s *Slow) Says(named func(string) string) (text, try string) {
	n, took, name := units.Count(s.Count), units.Duration(s.Sum/s.Count), named(s.Name)
	all, usual := units.Plural(s.All, "time"), units.Duration(s.Usual)
	switch {
	case s.IsRepeated:
		return fmt.Sprintf("%s of %s %s fail (%q) after %s in the mean, and are called again %s later.", n,
				units.Plural(s.All, "call"), name, named(s.Error), took, units.Duration(s.PauseNS/s.Count)),
			"look for why they fail: requests wait for the failed call, the pause behind it and the next call"
	case s.Error != "":
		return fmt.Sprintf("%s fails, after %s in the mean, %s of %s. Others take %s at the median.", name, took, n, all, usual),
			"look for why it fails (" + named(s.Error) + "), or set a deadline near its usual time"
	}
	return fmt.Sprintf("%s takes %s in the mean %s of %s, and %s at the median, while requests wait.", name, took, n, all, usual),
		"look for what stops it now and then: a lock, a new connection, a compaction, a retry, garbage collection"
}

// FailedOnes returns, by name, the failed spans of requests if most of them are called again, or else those with nothing below
// them that take some times the median of those of their name that do not fail.
func FailedOnes(f *trace.Forest, longer int64) (all []Slow) {
	if f == nil {
		return nil
	}
	const most = 0.75
	type calls struct {
		name     string
		answered []int64 // durations
		failed   []int32
		again    int
	}
	again := selection.Again(f)
	byName := make(map[int32]*calls)
	for r := range f.Rows() {
		if f.Flags(r)&(trace.FlagOp|trace.FlagStart) != trace.FlagStart || f.Tree.Parent[r] == trace.NoRow {
			continue
		}
		c := order.At(byName, f.Name(r))
		if c.name = f.RowName(r); f.Has(r, trace.FlagFailed) {
			c.failed = append(c.failed, r)
		} else {
			c.answered = append(c.answered, f.Duration(r))
		}
		if _, isRepeated := again[r]; isRepeated {
			c.again++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		c := byName[name]
		if len(c.answered) == 0 {
			continue
		}
		s := Slow{Name: c.name, Usual: sketch.Median(c.answered), All: int64(len(c.answered) + len(c.failed))}
		s.IsRepeated = c.again > 0 && float64(c.again) >= most*float64(len(c.failed))
		for _, r := range c.failed {
			if !s.IsRepeated && (len(f.Tree.Children(r)) > 0 || f.Duration(r) <= longer*s.Usual) {
				continue
			}
			s.Count++
			s.Sum += f.Duration(r)
			s.Error = cmp.Or(f.ErrorText(r), s.Error, "no reason stated")
			if next, isRepeated := again[r]; isRepeated && s.IsRepeated {
				s.PauseNS += f.Start(next) - f.End(r)
				s.In = f.RowName(f.Tree.Parent[r])
			}
		}
		if s.Count > 0 {
			all = append(all, s)
		}
	}
	return all
}

// SlowOnes returns the spans of requests, with nothing below them and no queue, that take some times the median of their
// name, by name.
func SlowOnes(f *trace.Forest, longer int64) (all []Slow) {
	calls := make(map[string][]int64)
	for name, rows := range OfRequests(f) {
		for _, r := range rows {
			calls[name] = append(calls[name], f.Duration(r))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		s := Slow{Name: name, Usual: sketch.Median(calls[name]), All: int64(len(calls[name]))}
		for _, took := range calls[name] {
			if took > longer*s.Usual {
				s.Count++
				s.Sum += took
			}
		}
		all = append(all, s)
	}
	return all
}

// Rest returns what is left of times by the name of their span without the ways to other services, and without what others
// have: the name with the most of it, the sum, and the ways in the times.
func Rest(in, there, others map[string]int64) (most string, sum, ways int64) {
	left := make(map[string]int64)
	for _, name := range slices.Sorted(maps.Keys(in)) {
		way := min(there[name], in[name])
		left[name] = max(0, in[name]-way-others[name])
		sum += left[name]
		ways += way
		if most == "" || left[name] > left[most] {
			most = name
		}
	}
	return most, sum, ways
}

// WaitsBelow returns how long spans of the names wait for the first span below them, and the names of both, for the pair with
// most of it. A wait ends as the first span below another one ends, as with a pool of workers; other time may be work.
func WaitsBelow(f *trace.Forest, names map[string]int64) (ns int64, name, below string) {
	const near = 10                       // parts of a wait within which the other ends
	firsts := make(map[[2]string][]int32) // by both names
	for r := range f.Rows() {
		if _, is := names[f.RowName(r)]; !is || f.Has(r, trace.FlagOp) || len(f.Tree.Children(r)) == 0 {
			continue
		}
		first := slices.MinFunc(f.Tree.Children(r), f.CompareStart)
		if f.Flags(first)&(trace.FlagOp|trace.FlagStart) == trace.FlagStart && !requests.IsWait(f.RowName(first)) {
			pair := [2]string{f.RowName(r), f.RowName(first)}
			firsts[pair] = append(firsts[pair], first)
		}
	}
	for pair, rows := range firsts {
		var ends []int64
		for _, r := range rows {
			ends = append(ends, f.End(r))
		}
		slices.Sort(ends)
		sum := int64(0)
		for _, r := range rows {
			wait := f.Start(r) - f.Start(f.Tree.Parent[r])
			if at, _ := slices.BinarySearch(ends, f.Start(r)-wait/near); at < len(ends) && ends[at] <= f.Start(r) {
				sum += wait
			}
		}
		if sum > ns || sum == ns && pair[0] < name {
			ns, name, below = sum, pair[0], pair[1]
		}
	}
	return ns, name, below
}
