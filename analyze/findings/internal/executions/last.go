package executions

import (
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/internal/sketch"
	"github.com/optrace/optrace/analyze/trace"
)

// Last is the service that calls at the same time wait for: the last to answer in LastIn of Count times. It takes Times the
// median of the others, for Work times their output elements, 0 if these are not known. NS is the time up to the answers of
// the others, at most that above their median.
type Last struct {
	Service, Span string
	Device        string // with its host, if others of the service are called at the same time
	Count, LastIn int64
	Times, Work   float64
	NS            int64
}

// LastOf returns the service for which calls to several services at the same time wait longest, nil without one that is last
// in most of them, and in more than equal services would be by chance.
func LastOf(f *trace.Forest) *Last {
	const most, deviations = 0.6, 4
	calls, _ := callsOf(f)
	type ratios struct{ times, work []float64 }
	type callee struct {
		service string
		device  int32 // of its first operation
	}
	all := make(map[callee]*Last)
	of := make(map[callee]*ratios)
	calleeOf := func(c *call) callee {
		for _, r := range f.Tree.Children(c.called) {
			if f.IsDeviceSide(r) {
				return callee{c.to, f.Device(r)}
			}
		}
		return callee{c.to, trace.NoRow}
	}
	n := int64(0)
	usually, variance := 0.0, 0.0 // how often each is the last of equal ones
	elements := func(c *call) (sum int64) {
		for _, r := range f.Tree.Children(c.called) {
			sum += f.Elements(r)
		}
		return sum
	}
	for group, last := range together(calls) {
		var usual, work []int64
		next := last.start
		to := calleeOf(last)
		isOne := true // of its service
		for i := range group {
			if c := &group[i]; calleeOf(c) != to && f.Name(c.span) == f.Name(last.span) {
				usual = append(usual, f.Duration(c.called))
				work = append(work, elements(c))
				next = max(next, c.end)
				isOne = isOne && c.to != last.to
			}
		}
		if len(usual) == 0 {
			continue
		}
		n++
		chance := 1 / float64(1+len(usual))
		usually += chance
		variance += chance * (1 - chance)
		l := all[to]
		if l == nil {
			l = &Last{Service: last.to, Span: f.RowName(last.called)}
			if !isOne && to.device != trace.NoRow {
				l.Device = f.Devices.Keys[to.device].Label(false)
			}
			all[to], of[to] = l, &ratios{}
		}
		median := sketch.Median(usual)
		l.LastIn++
		l.NS += min(last.end-next, max(0, f.Duration(last.called)-median))
		r := of[to]
		r.times = append(r.times, float64(f.Duration(last.called))/float64(max(1, median)))
		r.work = append(r.work, float64(elements(last))/float64(max(1, sketch.Median(work))))
	}
	for to, l := range all {
		if times := float64(l.LastIn); times > most*float64(n) && times > usually+deviations*math.Sqrt(variance) {
			r := of[to]
			slices.Sort(r.times)
			slices.Sort(r.work)
			l.Count, l.Times, l.Work = n, r.times[len(r.times)/2], r.work[len(r.work)/2]
			return l
		}
	}
	return nil
}
