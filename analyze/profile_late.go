package analyze

import (
	"slices"

	"github.com/optrace/optrace/op"
)

// lateRows are rows of columns that are read as a whole, or whose ids are read, once all
// of op.Rows were looked at: most rows that are the slowest so far are not the slowest in
// the end.
type lateRows struct {
	columns *op.Columns // of all of them
	// raised are the sums whose slowest row has yet to be looked up, and perhaps others.
	raised []*accumulator
	// slowest are rows that are among the slowest entries unless others come. No two of
	// them can be the same record.
	slowest []lateRow
}

// lateRow is a row of the columns.
type lateRow struct {
	duration int64
	start    op.Int
	at       position
	row      int
}

// isBefore reports whether r comes before another row in the order of slowest entries.
func (r lateRow) isBefore(o lateRow) bool {
	return r.duration > o.duration || r.duration == o.duration && r.at.before(o.at)
}

// raise notes that row i, which takes d, may be the slowest of some sums.
func (l *lateRows) raise(a *accumulator, d int64, i int) {
	if a.count > 0 && d == a.max { // the ids decide
		l.lookUp(a)
		a.offerSlowest(d, l.columns.TraceID(i), l.columns.SpanID(i))
		return
	}
	if a.late == 0 {
		l.raised = append(l.raised, a)
	}
	a.max, a.slowest, a.late = d, Exemplar{}, i+1
}

// lookUp looks the ids of the slowest row of some sums up, if that is to be done.
func (l *lateRows) lookUp(a *accumulator) {
	if a.late == 0 {
		return
	}
	i := a.late - 1
	a.late = 0
	a.offerSlowest(a.max, l.columns.TraceID(i), l.columns.SpanID(i))
}

// settle reads what was left for the end.
func (p *Profile) settle() {
	l := &p.found.late
	for _, a := range l.raised {
		l.lookUp(a)
	}
	l.raised = l.raised[:0]
	for _, r := range l.slowest {
		p.slowest.offer(l.columns.Entry(r.row), nil, r.at)
	}
	l.slowest = l.slowest[:0]
}

// offerSlow offers rows to the slowest entries.
func (p *Profile) offerSlow(c *op.Columns, list []int32) {
	l := &p.found.late
	at := p.at
	least := l.least(p.slowest.shortest, p.opts.Top)
	for k, duration := range p.found.durations[:len(list)] {
		if at.n++; duration < least || duration == p.slowest.shortest && !at.before(p.slowest.last) {
			continue
		}
		row := int(list[k])
		if sideAt(c, row) > 0 {
			continue
		}
		r := lateRow{duration, c.Start.At(row), at, row}
		if l.mayRepeat(r) || p.slowest.mayRepeat(r) {
			p.settle()
			p.slowest.offer(c.Entry(row), nil, at)
		} else {
			l.insert(r, p.opts.Top)
		}
		least = l.least(p.slowest.shortest, p.opts.Top)
	}
}

// least returns the duration below which a row is not among the slowest: shortest or, where
// there are as many late rows as entries, the least of theirs.
func (l *lateRows) least(shortest int64, top int) int64 {
	if n := len(l.slowest); n > 0 && n >= top {
		shortest = max(shortest, l.slowest[n-1].duration)
	}
	return shortest
}

// insert inserts a row at its place, and removes the last one where there are more than
// top.
func (l *lateRows) insert(r lateRow, top int) {
	i := len(l.slowest)
	for i > 0 && r.isBefore(l.slowest[i-1]) {
		i--
	}
	if i < top {
		l.slowest = slices.Insert(l.slowest, i, r)
		l.slowest = l.slowest[:min(top, len(l.slowest))]
	}
}

// mayRepeat reports whether a row may be the same record as one of the others.
func (l *lateRows) mayRepeat(r lateRow) bool {
	for i := range l.slowest {
		if l.slowest[i].duration == r.duration && l.slowest[i].start == r.start {
			return true
		}
	}
	return false
}

// mayRepeat reports whether a row may be the same record as one of the entries.
func (t *topEntries) mayRepeat(r lateRow) bool {
	for i := range t.kept.Items {
		if e := t.kept.Items[i].entry; e.Duration == r.duration && e.Start == r.start {
			return true
		}
	}
	return false
}
