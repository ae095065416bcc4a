package path

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/collective"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/op"
)

// dragRows bounds the rows with a drag in each table of critical paths: the largest rows of device operations.
const dragRows = 10

// Operation is the part of critical paths in one operation, on any device.
type Operation struct {
	// Operation is the name of the operation or span, "" while idle.
	Operation string `json:"operation"`
	// Kind is the kind of the operation, "mixed" for several kinds, KindHost or KindIdle.
	Kind   string  `json:"kind"`
	TimeNS int64   `json:"ns"`
	Share  float64 `json:"share"`
	// Segments counts the segments of the paths in this row.
	Segments int64 `json:"segments"`
	// DragNS is the time saved in all traces if the operation took no time, known for the largest device rows.
	DragNS op.Int `json:"drag_ns"`
}

// operationsOf sums up shares over devices.
func operationsOf(shares []Share) []Operation {
	type place struct {
		operation  string
		host, idle bool
	}
	rows := []Operation{}
	var at symbols.Table[place]
	for _, s := range shares {
		i := int(at.ID(place{s.Operation, s.Kind == KindHost, s.Kind == KindIdle}))
		if i == len(rows) {
			rows = append(rows, Operation{Operation: s.Operation, Kind: s.Kind})
		}
		row := &rows[i]
		if row.Kind != s.Kind {
			row.Kind = key.Mixed
		}
		row.TimeNS = wide.AddSaturating(row.TimeNS, s.TimeNS)
		row.Share += s.Share
		row.Segments += s.Segments
	}
	slices.SortStableFunc(rows, func(a, b Operation) int {
		return cmp.Or(cmp.Compare(b.TimeNS, a.TimeNS), strings.Compare(a.Operation, b.Operation))
	})
	return rows
}

// drags computes the time saved in traces without sets of operations. Each set is a row of the critical paths.
type drags struct {
	sum          *Sum      // of the paths; it gets the edges of the schedules
	whole, inner scheduler // of traces and of executions

	names  []int16      // the set of each operation name
	shares [][]shareSet // the sets of single devices and kinds, by name
	within []int16      // for each set of one device, the set of its operation
	drag   []*op.Int    // by set

	saved  map[int32][]int64 // of executions, by row
	counts []int64           // operations of a trace, by set
	less   []int64           // time saved in a trace, by set
}

type shareSet struct {
	key shareKey
	set int16
}

// addDrag computes the drag of the largest rows of byDevice and operations.
func addDrag(sum *Sum, byDevice []Share, operations []Operation, joins *collective.Joins) {
	d := newDrags(sum, joins)
	names := make(map[string]int16)
	shares := make(map[Share]int16)
	for i := range operations {
		if row := &operations[i]; isOnDevice(row.Kind) && len(names) < dragRows {
			names[row.Operation] = d.addSet(noSet, &row.DragNS)
		}
	}
	for i := range byDevice {
		if row := byDevice[i].key(); isOnDevice(row.Kind) && len(shares) < dragRows {
			of, ok := names[row.Operation]
			if !ok {
				of = noSet
			}
			shares[row] = d.addSet(of, &byDevice[i].DragNS)
		}
	}
	for key := range sum.Shares {
		if key.what != segmentOp {
			continue
		}
		row := sum.describe(key)
		if set, ok := names[row.Operation]; ok {
			d.names[key.name] = set
		}
		if set, ok := shares[row]; ok {
			d.shares[key.name] = append(d.shares[key.name], shareSet{key, set})
		}
	}
	d.run()
}

// isOnDevice reports whether a row has operations on devices.
func isOnDevice(kind string) bool { return kind != KindHost && kind != KindIdle }

// addSet adds a set of operations, a subset of the set of unless of is noSet. The drag will be written to drag.
func (d *drags) addSet(of int16, drag *op.Int) int16 {
	*drag = op.Known(0)
	d.within = append(d.within, of)
	d.drag = append(d.drag, drag)
	return int16(len(d.within) - 1)
}

// key returns the row without its figures.
func (s *Share) key() Share {
	return Share{Operation: s.Operation, Kind: s.Kind, Key: s.Key}
}

func newDrags(sum *Sum, joins *collective.Joins) *drags {
	f := sum.forest
	n := len(f.Names.Operations.Values)
	d := &drags{
		sum: sum, names: slices.Repeat([]int16{noSet}, n), shares: make([][]shareSet, n),
		saved: make(map[int32][]int64),
	}
	for _, s := range []*scheduler{&d.inner, &d.whole} {
		*s = scheduler{
			forest: f, sets: d.setsOf, joins: joins, lanes: make(map[int32]int32), parts: make(map[int32]*parts),
		}
	}
	d.whole.saved = d.savedIn
	return d
}

// setsOf returns the sets of an operation, by its name alone and by name, device and kind.
func (d *drags) setsOf(name, device int32, kind op.Kind) [2]int16 {
	sets := [2]int16{d.names[name], noSet}
	for _, s := range d.shares[name] {
		if s.key.device == device && s.key.kind == kind {
			sets[1] = s.set
		}
	}
	return sets
}

func (d *drags) run() {
	for w, roots := range traceWindows(d.sum.forest) {
		if w.From == w.To {
			continue
		}
		d.whole.build(w, roots)
		for set, saved := range d.savings(&d.whole, w.To-w.From) {
			d.drag[set].V = wide.AddSaturating(d.drag[set].V, saved)
		}
	}
}

// savedIn returns the time saved in an execution without each set.
func (d *drags) savedIn(w Window) []int64 {
	saved, ok := d.saved[w.Row]
	if !ok {
		d.inner.build(w, nil)
		saved = slices.Clone(d.savings(&d.inner, w.To-w.From))
		d.saved[w.Row] = saved
	}
	return saved
}

// savings returns the time saved without each set, valid until the next call, and counts edges.
func (d *drags) savings(s *scheduler, duration int64) []int64 {
	d.sum.edges.Stream += s.edges.Stream
	d.sum.edges.Collective += s.edges.Collective
	d.counts = slices.Grow(d.counts[:0], len(d.within))[:len(d.within)]
	executions := s.count(d.counts)
	d.less = slices.Grow(d.less[:0], len(d.within))[:len(d.within)]
	for set := range d.within {
		d.less[set] = 0
		if d.counts[set] > 0 && !d.equalsItsOperation(set, executions) {
			d.less[set] = duration - s.run(set)
		}
	}
	for set, of := range d.within {
		if d.counts[set] > 0 && d.equalsItsOperation(set, executions) {
			d.less[set] = d.less[of]
		}
	}
	return d.less
}

// equalsItsOperation reports whether the schedule holds all operations of a set's operation on the set's one device.
func (d *drags) equalsItsOperation(set int, executions bool) bool {
	of := d.within[set]
	return of != noSet && d.counts[of] == d.counts[set] && !executions
}

// Figures returns the paths of all traces by device and by operation, and sums. Rows beyond most share one. Without
// joins, drag and the edges beside the tree are not computed.
func Figures(f *trace.Forest, joins func() *collective.Joins, most int) ([]Share, []Operation, *Totals) {
	sum := sumAll(f)
	shares := sum.List()
	operations := operationsOf(shares)
	if joins != nil {
		addDrag(sum, shares, operations, joins())
	}
	return fold(shares, most, Share{Operation: key.Other, Kind: key.Mixed}, (*Share).add),
		fold(operations, most, Operation{Operation: key.Other, Kind: key.Mixed}, (*Operation).add), pathTotals(sum)
}

// TotalsOf returns the sums of all critical paths.
func TotalsOf(f *trace.Forest) *Totals {
	sum := sumAll(f)
	newDrags(sum, collective.FindJoins(f)).run()
	return pathTotals(sum)
}

// fold merges the rows beyond most into other.
func fold[T any](rows []T, most int, other T, add func(other, row *T)) []T {
	if len(rows) <= most {
		return rows
	}
	for i := range rows[most:] {
		add(&other, &rows[most+i])
	}
	return append(slices.Clone(rows[:most]), other)
}

func (s *Share) add(o *Share) {
	s.TimeNS += o.TimeNS
	s.Share += o.Share
	s.Segments += o.Segments
}

func (o *Operation) add(row *Operation) {
	o.TimeNS += row.TimeNS
	o.Share += row.Share
	o.Segments += row.Segments
}
