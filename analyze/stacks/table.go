package stacks

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
)

// Other names what a table had no room for: the one frame of a row of stacks, the
// shape and the request of a row of operations whose own are not kept.
const Other = "(other)"

// Limits bounds the rows of a [Table]. The text of a row, its stack above all, is
// 256 bytes long on average at most; of longer ones there are fewer.
type Limits struct {
	// Stacks is how many stacks it keeps, those on different devices, of different kinds or
	// of different producers counted apart; 0 is DefaultStacks.
	Stacks int
	// Shapes is how many of them with different shapes; 0 is DefaultShapes.
	Shapes int
	// Requests is how many of those of different requests; 0 is DefaultRequests. Of a
	// request all are kept, as far as their shapes are, or none.
	Requests int
}

// The defaults of Limits.
const (
	DefaultStacks   = 1 << 18
	DefaultShapes   = 1 << 17
	DefaultRequests = 1 << 17
)

// Overflow is how many stacks, stacks of different shapes, and requests a table had
// no room for; estimates where there are very many.
type Overflow struct{ Stacks, Shapes, Requests int64 }

// Table adds up what operations took, by stack, device, kind and producer, within these by shape
// and within these by request. Its rows depend on what was added, not on the order or
// on how it was divided among tables that were merged. It is not safe for concurrent
// use.
type Table struct {
	// Start and End are the first start and the last end of the operations in Unix ns, unknown where none has a start.
	Start, End op.Int
	// HostSide counts the operations that were left out as the host's view of work
	// of a device, Duplicates those whose ids others had before, which are in no tree: stacks of their own.
	HostSide, Duplicates int64

	levels [numLevels]*table.Table[sum]
	key    []byte
}

// The levels of a Table. The key of a row begins with that of its row on the level
// before.
const (
	byStack = iota
	byShape
	byRequest
	numLevels
)

// sum is what the operations of a row on some level took.
type sum struct {
	key string
	// own is where the key goes on from that of the row on the level before; on the first one, where the frames begin.
	own    int
	labels Labels // as far as the level tells them
	all    Values
	// plain is the part of the operations that have no row on the next level.
	plain Values
}

// NewTable returns an empty table.
func NewTable(limits Limits) *Table {
	fold := func(dst, src *sum) {
		dst.all.Add(src.all)
		dst.plain.Add(src.plain)
	}
	return &Table{levels: [numLevels]*table.Table[sum]{
		byStack:   table.New(cmp.Or(max(0, limits.Stacks), DefaultStacks), fold),
		byShape:   table.New(cmp.Or(max(0, limits.Shapes), DefaultShapes), fold),
		byRequest: table.NewByHash(cmp.Or(max(0, limits.Requests), DefaultRequests), fold, requestHash),
	}}
}

// Add adds operations at the end of a path. It keeps nothing of path.
func (t *Table) Add(path *Path, l *Labels, v Values) {
	t.key = append(key.AppendCounted(t.key[:0], l.Device), byte(l.Kind))
	t.key = key.AppendInt(key.AppendCounted(key.AppendCounted(t.key, l.Producer.Service), l.Producer.Host), l.Producer.Rank)
	own, labels, hasRequest := len(t.key), Labels{Device: l.Device, Kind: l.Kind, Producer: l.Producer}, l.Request != (Request{})
	t.key = append(t.key, path.text...)
	if t.add(byStack, own, &labels, v, l.Shape != "" || hasRequest) {
		return
	}
	own, labels.Shape = len(t.key), l.Shape
	t.key = key.AppendCounted(t.key, l.Shape)
	if t.add(byShape, own, &labels, v, hasRequest) {
		return
	}
	own = len(t.key)
	t.key = appendRequest(t.key, &l.Request)
	t.add(byRequest, own, l, v, false)
}

// add adds operations to the row of t.key on a level, and reports whether the next
// levels have nothing of them.
func (t *Table) add(level, own int, l *Labels, v Values, more bool) (done bool) {
	row, isNew := t.levels[level].Row(t.key)
	if isNew {
		row.Value.key, row.Value.own, row.Value.labels = row.Key(), own, *l
	}
	row.Value.all.Add(v)
	if !more {
		row.Value.plain.Add(v)
	}
	return !more
}

// appendRequest appends a request to a key, and its hash.
func appendRequest(dst []byte, r *Request) []byte {
	start := len(dst)
	dst = key.AppendCounted(dst, r.Name)
	dst = append(append(dst, r.TraceID[:]...), r.SpanID[:]...)
	return binary.BigEndian.AppendUint64(dst, table.Hash(dst[start:]))
}

// requestHash returns the hash that appendRequest appended.
func requestHash(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

// AddTime notes that an operation started and ended at these times.
func (t *Table) AddTime(start, end int64) {
	if !t.Start.Known || start < t.Start.V {
		t.Start = op.Known(start)
	}
	if !t.End.Known || end > t.End.V {
		t.End = op.Known(end)
	}
}

// Merge adds the operations of o, which does not change.
func (t *Table) Merge(o *Table) {
	if o.Start.Known {
		t.AddTime(o.Start.V, o.End.V)
	}
	t.HostSide += o.HostSide
	t.Duplicates += o.Duplicates
	for i := range t.levels {
		t.levels[i].Merge(o.levels[i], func(dst, src *sum) { dst.key, dst.own, dst.labels = src.key, src.own, src.labels })
	}
}

// Operations returns how many operations were added.
func (t *Table) Operations() int64 {
	all := Values{}
	for sum := range t.levels[byStack].All() {
		all.Add(sum.all)
	}
	return all.Count
}

// Overflowed returns what there was no room for.
func (t *Table) Overflowed() Overflow {
	return Overflow{t.levels[byStack].Overflowed(), t.levels[byShape].Overflowed(), t.levels[byRequest].Overflowed()}
}

// Row is what the operations of one stack took that have the same labels.
type Row struct {
	// Frames are names from the root down, as they were recorded.
	Frames []string
	Labels
	Values
}

// Rows returns the rows, sorted by frames and labels. They add up to all that was added: what is not kept of operations,
// their request, shape or stack, is [Other].
func (t *Table) Rows() []Row {
	var rows []Row
	above := map[string]*Row{} // what is not in rows yet, by key
	for level := range t.levels {
		here := make(map[string]*Row)
		for s, other := range t.levels[level].All() {
			switch {
			case other && level == byStack:
				rows = append(rows, Row{Frames: []string{Other}, Values: s.all})
			case other:
			case level == byStack:
				here[s.key] = &Row{Frames: framesOf(s.key[s.own:]), Labels: s.labels}
			case above[s.key[:s.own]] == nil, level == byRequest && !t.levels[level].Whole(s.key):
			default:
				from := above[s.key[:s.own]]
				from.sub(s.all)
				here[s.key] = &Row{Frames: from.Frames, Labels: s.labels}
			}
			if row := here[s.key]; row != nil && !other {
				rows = appendRow(rows, *row, s.plain)
				row.Values = s.all
				row.sub(s.plain)
			}
		}
		for _, row := range above { // with what is left of them
			if level == byShape {
				row.Shape = Other
			}
			row.Request = Request{Name: Other}
			rows = appendRow(rows, *row, row.Values)
		}
		above = here
	}
	slices.SortFunc(rows, compareRows)
	return rows
}

// appendRow appends a row with other values, unless nothing is in them.
func appendRow(rows []Row, row Row, v Values) []Row {
	if v.Count == 0 {
		return rows
	}
	row.Values = v
	return append(rows, row)
}

// framesOf returns the frames in the text of a path.
func framesOf(text string) []string {
	frames := []string{}
	for text != "" {
		length, size := binary.Uvarint([]byte(text[:min(len(text), binary.MaxVarintLen64)]))
		end := size + int(length)
		frames, text = append(frames, text[size:end]), text[end:]
	}
	return frames
}

func compareRows(a, b Row) int {
	return cmp.Or(
		slices.Compare(a.Frames, b.Frames), strings.Compare(a.Device, b.Device), cmp.Compare(a.Kind, b.Kind),
		strings.Compare(a.Shape, b.Shape), strings.Compare(a.Request.Name, b.Request.Name),
		bytes.Compare(a.Request.TraceID[:], b.Request.TraceID[:]), bytes.Compare(a.Request.SpanID[:], b.Request.SpanID[:]),
		a.Producer.Compare(b.Producer), cmp.Compare(a.Count, b.Count),
	)
}
