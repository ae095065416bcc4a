package arrowtable

import (
	"encoding/binary"

	"github.com/optrace/optrace/op"
)

// Table holds what the rows of a batch refer to: the dictionaries, and the
// combinations of their values that occur. The rows themselves are bytes that its
// methods append to, for the caller to keep. The zero value is not usable.
type Table struct {
	dicts        [numColumns]*dictionary // of the columns that have one
	dims         *dimensions
	combinations combinations
	launches     []launch
	rows         int
	place        place // of the last row
	bytes        int   // what dictionaries and combinations take, roughly
}

// launch is the launch time of a row: few have one.
type launch struct {
	row int
	ns  int64
}

// place is where an operation stands in its trace, and the indexes of that.
type place struct {
	trace  op.TraceID
	parent op.SpanID
	root   string
	rootID op.SpanID
	index  [4]int16
}

// NewTable returns an empty table.
func NewTable() *Table {
	t := new(Table)
	t.place.index = nowhere
	t.dims = newDimensions(&t.bytes)
	fields := schema().Fields
	for i := range fields {
		if fields[i].Dictionary != nil {
			t.dicts[i] = newDictionary(&fields[i], t.dims, &t.bytes)
		}
	}
	return t
}

var nowhere = [4]int16{isNull, isNull, isNull, isNull}

// Rows returns the number of rows.
func (t *Table) Rows() int { return t.rows }

// Bytes returns how much memory the table takes, roughly.
func (t *Table) Bytes() int { return t.bytes }

// MaxRows is how many rows a table has at most that records of spans are added to as
// they come. A [Builder] takes MaxBuilderRows: what is the same in many rows then stands
// in fewer dictionaries, and no dictionary has more values than an index of 16 bits, one
// of which is the sign, can tell apart.
const (
	MaxRows        = 1 << 14
	MaxBuilderRows = 1<<15 - 1
)

// MaxBytes is how much memory a table takes at most before its batch ends: rows may
// be unusually long.
const MaxBytes = 192 << 20

// Full reports whether no further row should join those that there are.
func (t *Table) Full() bool { return t.isFull(MaxRows) }

func (t *Table) isFull(rows int) bool { return t.rows >= rows || t.bytes >= MaxBytes }

// Reset makes the table empty.
func (t *Table) Reset() {
	t.rows, t.launches = 0, t.launches[:0]
	t.combinations.reset()
	t.place, t.bytes = place{index: nowhere}, 0
	t.dims.reset()
	for _, d := range t.dicts {
		if d != nil {
			d.reset()
		}
	}
}

// The bytes of a row.
const (
	rowStart       = 0  // of the operation, in ns
	rowDuration    = 8  // in ns
	rowSpanID      = 16 // of 8 bytes
	rowCombination = 24 // from here on two bytes each
	rowStep        = 26
	rowDevice      = 28
	rowTrace       = 30
	rowParent      = 32
	rowRoot        = 34
	rowRootID      = 36
	rowFlags       = 38

	// RowBytes is the size of a row.
	RowBytes = 40
)

// The flags of a row: which of its values are not null.
const (
	hasStart = 1 << iota
	hasDuration
	hasSpanID
)

// row is what a row holds beside its combination.
type row struct {
	start, duration int64
	spanID          op.SpanID
	step, device    int16
	place           [4]int16 // trace, parent, root and its id
	flags           uint16
	combination     int
}

// appendRow appends a row.
func (t *Table) appendRow(rows []byte, r *row) []byte {
	t.rows++
	var b [RowBytes]byte
	binary.LittleEndian.PutUint64(b[rowStart:], uint64(r.start))
	binary.LittleEndian.PutUint64(b[rowDuration:], uint64(r.duration))
	copy(b[rowSpanID:], r.spanID[:])
	binary.LittleEndian.PutUint16(b[rowCombination:], uint16(r.combination))
	binary.LittleEndian.PutUint16(b[rowStep:], uint16(r.step))
	binary.LittleEndian.PutUint16(b[rowDevice:], uint16(r.device))
	for i, at := range r.place {
		binary.LittleEndian.PutUint16(b[rowTrace+2*i:], uint16(at))
	}
	binary.LittleEndian.PutUint16(b[rowFlags:], r.flags)
	return append(rows, b[:]...)
}

// combine returns the number of a new combination.
func (t *Table) combine(c *combination) int {
	t.bytes += combinationBytes
	return t.combinations.add(c)
}

// locate returns the indexes of a place. Neighbours often share theirs.
func (t *Table) locate(trace *op.TraceID, parent *op.SpanID, root string, rootID *op.SpanID) [4]int16 {
	p := &t.place
	if *parent == p.parent && *trace == p.trace && root == p.root && *rootID == p.rootID {
		return p.index
	}
	*p = place{*trace, *parent, root, *rootID, [4]int16{
		t.dicts[colTraceID].traceID(*trace), t.dicts[colParentSpanID].spanID(*parent),
		t.dicts[colRoot].text(root), t.dicts[colRootSpanID].spanID(*rootID),
	}}
	return p.index
}

// setStart sets the start, where it is known.
func (r *row) setStart(n op.Int) {
	if n.Known {
		r.start = n.V
		r.flags |= hasStart
	}
}

func (r *row) setSpanID(id op.SpanID) {
	if !id.IsZero() {
		r.spanID = id
		r.flags |= hasSpanID
	}
}

// bare is a row in which all is null.
func bare() row { return row{step: isNull, device: isNull, place: nowhere} }

// AppendEntry appends a row for e.
func (t *Table) AppendEntry(rows []byte, e *op.Entry) []byte {
	c := t.entry(e)
	r := row{
		duration: e.Duration, flags: hasDuration, combination: t.combine(&c),
		step: t.dicts[colStep].int(e.Step), device: t.dicts[colDeviceID].text(e.DeviceID),
		place: t.locate(&e.TraceID, &e.ParentSpanID, e.Root, &e.RootSpanID),
	}
	r.setStart(e.Start)
	r.setSpanID(e.SpanID)
	if e.Launch.Known {
		t.launches = append(t.launches, launch{t.rows, e.Launch.V})
	}
	return t.appendRow(rows, &r)
}

// AppendSpan appends a row for s.
func (t *Table) AppendSpan(rows []byte, s *op.Span) []byte {
	c := t.span(s)
	r := bare()
	r.duration, r.flags, r.combination = s.Duration, hasDuration, t.combine(&c)
	r.place = t.locate(&s.TraceID, &s.ParentSpanID, "", new(op.SpanID))
	r.setStart(s.Start)
	r.setSpanID(s.SpanID)
	return t.appendRow(rows, &r)
}

// AppendResource appends a row for r: what follows comes from there.
func (t *Table) AppendResource(rows []byte, r *op.Resource) []byte {
	return t.appendBare(rows, t.resource(r))
}

// AppendGap appends a row for g.
func (t *Table) AppendGap(rows []byte, g *op.Gap) []byte { return t.appendBare(rows, t.gap(g)) }

// AppendBatch appends a row for the head of a write.
func (t *Table) AppendBatch(rows []byte, b *op.Batch) []byte { return t.appendBare(rows, t.batch(b)) }

func (t *Table) appendBare(rows []byte, c combination) []byte {
	r := bare()
	r.combination = t.combine(&c)
	return t.appendRow(rows, &r)
}
