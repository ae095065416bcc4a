// Package drivers finds threads of a host that each drive one device, where threads and launches are not recorded, and
// how much devices work at the same time.
package drivers

import (
	"math"
	"slices"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/op"
)

// several marks a row with work of several devices below it.
const several = -1

// Of returns by row which device its thread drives, as the number of the device and 1, or 0; nil without such threads.
// A process has a thread for each device if these work at the same time half as often as by chance, without launches,
// and reduce together: then each has work of its own. Operations of a device have its thread, and so have spans with
// work of no other device below them.
func Of(f *trace.Forest, process []int32) (of []int32) {
	reduces := reducing(f, process)
	if reduces == nil {
		return nil
	}
	rows := make([][]int32, len(reduces)) // by process
	for _, r := range f.Devices.ByStart {
		p := process[r]
		switch {
		case !reduces[p] || f.Devices.Keys[f.Device(r)].IsNone():
		case f.Has(r, trace.FlagLaunch) || f.Thread(r) != 0:
			reduces[p] = false
		default:
			rows[p] = append(rows[p], r)
		}
	}
	for p, list := range rows {
		if !reduces[p] {
			continue
		}
		isCollective := func(r int32) bool { return f.Kind(r) == op.KindCollective }
		o := Find(f, slices.DeleteFunc(slices.Clone(list), isCollective), math.Inf(1))
		if 2*o.NS < o.Chance || o.Chance == 0 {
			continue
		}
		if of == nil {
			of = make([]int32, f.Len())
		}
		for _, r := range list {
			d := f.Device(r) + 1
			of[r] = d
			for above := f.Tree.Parent[r]; above != trace.NoRow && of[above] != d && of[above] != several; {
				if of[above] != 0 {
					d = several
				}
				of[above] = d
				above = f.Tree.Parent[above]
			}
		}
	}
	for r := range of {
		of[r] = max(0, of[r])
	}
	return of
}

// reducing reports by process whether it has collectives of several devices, but for sends and receives. It returns nil
// without any.
func reducing(f *trace.Forest, process []int32) []bool {
	if len(f.Devices.Keys) < 2 || len(f.Collectives) == 0 {
		return nil
	}
	found := make([]bool, slices.Max(process)+1)
	for parts := range collective.FindJoins(f).All() {
		name := f.Names.Collectives.Values[parts[0].Name].Name
		for i := 1; i < len(parts) && !collective.IsSend(name) && !collective.IsReceive(name); i++ {
			if p := process[parts[i].Row]; p == process[parts[i-1].Row] {
				found[p] = true
			}
		}
	}
	return found
}

// Overlap is the time, in ns, in which devices work at the same time, how long they would by chance, and the whole.
type Overlap struct{ NS, Chance, WholeNS float64 }

// Find returns the overlap of rows, by start, or a part of it beyond a limit.
func Find(f *trace.Forest, rows []int32, limit float64) Overlap {
	type device struct{ busy, end int64 }
	devices := slices.Repeat([]device{{end: -trace.MaxTime}}, len(f.Devices.Keys))
	var begin, end, sum, union int64
	for _, r := range rows {
		took := f.Duration(r)
		if took == 0 {
			continue
		}
		from := f.Start(r)
		to := from + took
		if sum == 0 {
			begin, end = from, from
		}
		d := &devices[f.Device(r)]
		if own := to - max(from, d.end); own > 0 {
			d.busy += own
			sum += own
			d.end = to
		}
		if beyond := to - max(from, end); beyond > 0 {
			union += beyond
			end = to
		} else if float64(sum-union) > limit {
			break
		}
	}
	chance := float64(sum) * float64(sum) // twice the products of the shares of two devices
	for _, d := range devices {
		chance -= float64(d.busy) * float64(d.busy)
	}
	whole := float64(end - begin)
	return Overlap{float64(sum - union), chance / 2 / max(1, whole), whole}
}
