package html

import (
	"cmp"
	"slices"

	"github.com/optrace/optrace/analyze/device"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/op"
)

// maxRows is the number of rows above which a page merges operations too short to see on the whole timeline. A row
// takes about 10 bytes of the page and 140 of the browser's memory.
const maxRows = 2_000_000

// The number of parts that the run is divided into for merging: a quarter of a pixel each at first, down to leastBins.
const (
	mostBins  = 8000
	leastBins = 250
)

// merged counts merged operations: neighbours on a stream shorter than WidthNS become boxes beside each other, one for
// those with equal names and request.
type merged struct {
	Ops     int64 `json:"ops"`
	Boxes   int64 `json:"boxes"`
	WidthNS int64 `json:"width_ns"`
}

// merge makes the rows. It merges short operations, trying to keep at most limit rows.
func (r *rows) merge(limit int) {
	if len(r.timed) <= limit {
		list := make([]row, len(r.timed))
		for i := range r.timed {
			list[i] = r.row(&r.timed[i])
		}
		r.setList(list)
		return
	}
	m := merger{rows: r, chains: chains{rows: r, number: slices.Repeat([]int32{-1}, len(r.request))},
		isParent: make([]bool, len(r.request))}
	for i := range r.timed {
		if p := r.timed[i].node.Parent(); !p.IsZero() {
			m.isParent[p.Index()] = true
		}
	}
	width := max(1, r.span/mostBins)
	for width < r.span/leastBins && !m.run(width, limit) {
		width *= 2
	}
	if width >= r.span/leastBins {
		m.run(width, len(r.timed))
	}
	slices.SortStableFunc(m.out, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.duration, a.duration))
	})
	r.merged = m.merged
	r.setList(m.out)
}

type merger struct {
	*rows
	chains   chains
	isParent []bool // by trace.Node.Index
	lanes    map[lane]*pending
	out      []row
	merged   merged
}

// lane holds consecutive operations.
type lane struct {
	device device.Key
	stream op.Int
	host   bool
}

// pending are the growing boxes of a lane, all in one part of the time.
type pending struct {
	bin   int64
	end   int64 // the last of the operations'
	boxes []row
	at    map[boxKey]int
}

// boxKey is equal for the operations of a box.
type boxKey struct {
	chain   int32 // their names and the names above
	kind    uint64
	request int32
	error   uint64
}

// run merges operations shorter than width and reports whether at most limit rows remain. It gives up as soon as there
// are more.
func (m *merger) run(width int64, limit int) bool {
	m.out = m.out[:0]
	m.lanes = make(map[lane]*pending)
	m.merged = merged{WidthNS: width}
	var order []*pending
	for i := range m.timed {
		if len(m.out) > limit {
			return false
		}
		one := m.row(&m.timed[i])
		n := one.node
		if !n.IsOp() {
			m.out = append(m.out, one)
			continue
		}
		where := lane{n.Device(), n.Stream(), n.Side() == op.SideHost}
		p := m.lanes[where]
		if p == nil {
			p = &pending{at: make(map[boxKey]int)}
			m.lanes[where] = p
			order = append(order, p)
		}
		if one.duration >= width || one.collective > 0 || m.isParent[n.Index()] {
			m.flush(p)
			m.out = append(m.out, one)
			continue
		}
		if bin := (one.start - m.origin) / width; bin != p.bin {
			m.flush(p)
			p.bin = bin
		}
		p.add(&one, boxKey{m.chains.of(n), one.kind(), m.request[n.Index()], m.errorCode(n)})
	}
	for _, p := range order {
		m.flush(p)
	}
	return len(m.out) <= limit
}

func (p *pending) add(one *row, key boxKey) {
	p.end = max(p.end, one.start+one.duration)
	i, ok := p.at[key]
	if !ok {
		p.at[key] = len(p.boxes)
		p.boxes = append(p.boxes, *one)
		return
	}
	b := &p.boxes[i]
	b.duration += one.duration
	b.self += one.self
	b.memory += one.memory
	b.flops += one.flops
	b.count += one.count
	b.longest = max(b.longest, one.longest)
	if b.shape != one.shape {
		b.shape = 0
	}
	if b.step != one.step {
		b.step = 0
	}
}

// flush appends the boxes consecutively, their extents in proportion to their sums: together they take the time from
// the first start to the last end, so no gap appears that does not exist. An operation alone stays as it is.
func (m *merger) flush(p *pending) {
	alone := len(p.boxes) == 1 && p.boxes[0].count == 1
	sum := int64(0)
	for i := range p.boxes {
		sum += p.boxes[i].duration
	}
	for i, at := 0, int64(0); i < len(p.boxes) && !alone; i++ {
		b := &p.boxes[i]
		at = max(at, p.boxes[0].start) // the first of all, for the operations are in order
		b.extent = max(1, int64(float64(p.end-p.boxes[0].start)*(float64(b.duration)/float64(max(1, sum)))))
		m.merged.Ops += b.count
		m.merged.Boxes++
		b.start = at
		at += b.extent
	}
	m.out = append(m.out, p.boxes...)
	p.boxes = p.boxes[:0]
	p.end = 0
	clear(p.at)
}

// chains numbers the names of nodes together with the names of their ancestors.
type chains struct {
	rows   *rows
	number []int32 // by trace.Node.Index, -1 before it is known
	known  symbols.Table[chain]
}

// chain is a name below a chain, -1 at the top.
type chain struct{ above, name int32 }

// of returns the number of the chain that ends with n. It does not recurse: chains may be as long as the run.
func (c *chains) of(n trace.Node) int32 {
	var path []trace.Node
	above := int32(-1)
	for ; !n.IsZero(); n = n.Parent() {
		if above = c.number[n.Index()]; above >= 0 {
			break
		}
		path = append(path, n)
	}
	for _, n := range slices.Backward(path) {
		above = c.known.ID(chain{above, c.rows.name(n.Name())})
		c.number[n.Index()] = above
	}
	return above
}
