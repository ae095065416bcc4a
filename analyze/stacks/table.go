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

// Other names dropped rows: the frame of a dropped stack, or a dropped shape or request.
const Other = "(other)"

// Limits bounds the rows of a [Table], given 256 bytes of text per row. Longer texts reduce the number of rows.
type Limits struct {
	// Stacks bounds the stacks, counted per device, kind and producer. 0 means DefaultStacks.
	Stacks int
	// Shapes bounds the stacks of different shapes. 0 means DefaultShapes.
	Shapes int
	// Requests bounds the stacks and shapes of different requests. 0 means DefaultRequests. A request is kept or
	// dropped as a whole, as far as its shapes are kept.
	Requests int
}

// The defaults of Limits.
const (
	DefaultStacks   = 1 << 18
	DefaultShapes   = 1 << 17
	DefaultRequests = 1 << 17
)

// Overflow counts the dropped stacks, stacks of different shapes, and requests. Large counts are estimates.
type Overflow struct{ Stacks, Shapes, Requests int64 }

// Table sums up values by stack, device, kind and producer, then by shape, then by request. Its rows do not depend on
// the order of additions. It is not safe for concurrent use.
type Table struct {
	// Start and End are the first start and the last end in Unix ns, unknown if no operation has a start.
	Start, End op.Int
	// HostSide counts operations left out as the host's view of device work, Duplicates operations with the ids of
	// earlier ones. Duplicates are stacks of their own.
	HostSide, Duplicates int64

	levels [numLevels]*table.Table[sum]
	key    []byte
}

// The levels of a Table. The key of a row begins with the key of its row on the level above.
const (
	byStack = iota
	byShape
	byRequest
	numLevels
)

// sum has the values of a row on some level.
type sum struct {
	key string
	// own is the length of the key of the level above, or on the first level the place of the frames.
	own    int
	labels Labels // as far as the level knows them
	all    Values
	// plain is the part without a row on the next level.
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

// Add adds operations at the end of a path. It does not keep path.
func (t *Table) Add(path *Path, l *Labels, v Values) {
	t.key = append(key.AppendCounted(t.key[:0], l.Device), byte(l.Kind))
	t.key = key.AppendCounted(key.AppendCounted(t.key, l.Producer.Service), l.Producer.Host)
	t.key = key.AppendInt(t.key, l.Producer.Rank)
	own := len(t.key)
	labels := Labels{Device: l.Device, Kind: l.Kind, Producer: l.Producer}
	hasRequest := l.Request != (Request{})
	t.key = append(t.key, path.text...)
	if t.add(byStack, own, &labels, v, l.Shape != "" || hasRequest) {
		return
	}
	own = len(t.key)
	labels.Shape = l.Shape
	t.key = key.AppendCounted(t.key, l.Shape)
	if t.add(byShape, own, &labels, v, hasRequest) {
		return
	}
	own = len(t.key)
	t.key = appendRequest(t.key, &l.Request)
	t.add(byRequest, own, l, v, false)
}

// add adds operations to the row of t.key on a level. It reports whether they end there.
func (t *Table) add(level, own int, l *Labels, v Values, more bool) (done bool) {
	row, isNew := t.levels[level].Row(t.key)
	if isNew {
		row.Value.key = row.Key()
		row.Value.own = own
		row.Value.labels = *l
	}
	row.Value.all.Add(v)
	if !more {
		row.Value.plain.Add(v)
	}
	return !more
}

func appendRequest(dst []byte, r *Request) []byte {
	start := len(dst)
	dst = key.AppendCounted(dst, r.Name)
	dst = append(append(dst, r.TraceID[:]...), r.SpanID[:]...)
	return binary.BigEndian.AppendUint64(dst, table.Hash(dst[start:]))
}

func requestHash(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

// AddTime extends Start and End to the times of an operation.
func (t *Table) AddTime(start, end int64) {
	if !t.Start.Known || start < t.Start.V {
		t.Start = op.Known(start)
	}
	if !t.End.Known || end > t.End.V {
		t.End = op.Known(end)
	}
}

// Overflowed counts the dropped rows.
func (t *Table) Overflowed() Overflow {
	return Overflow{t.levels[byStack].Overflowed(), t.levels[byShape].Overflowed(), t.levels[byRequest].Overflowed()}
}

// Row has the values of the operations of one stack and equal labels.
type Row struct {
	// Frames are names from the root down, as recorded.
	Frames []string
	Labels
	Values
}

// Rows returns the rows, sorted by frames and labels. They add up to all additions, dropped parts are [Other].
func (t *Table) Rows() []Row {
	var rows []Row
	above := map[string]*Row{} // by key, the rows of the level above not yet in rows
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
		for _, row := range above { // the rest
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

// appendRow appends a row with other values, unless they are empty.
func appendRow(rows []Row, row Row, v Values) []Row {
	if v.Count == 0 {
		return rows
	}
	row.Values = v
	return append(rows, row)
}

func framesOf(text string) []string {
	frames := []string{}
	for text != "" {
		length, size := binary.Uvarint([]byte(text[:min(len(text), binary.MaxVarintLen64)]))
		end := size + int(length)
		frames = append(frames, text[size:end])
		text = text[end:]
	}
	return frames
}

func compareRows(a, b Row) int {
	return cmp.Or(
		slices.Compare(a.Frames, b.Frames), strings.Compare(a.Device, b.Device), cmp.Compare(a.Kind, b.Kind),
		strings.Compare(a.Shape, b.Shape), strings.Compare(a.Request.Name, b.Request.Name),
		bytes.Compare(a.Request.TraceID[:], b.Request.TraceID[:]),
		bytes.Compare(a.Request.SpanID[:], b.Request.SpanID[:]), a.Producer.Compare(b.Producer),
		cmp.Compare(a.Count, b.Count),
	)
}
