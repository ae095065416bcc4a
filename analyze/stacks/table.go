package stacks

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/op"
)

// Other names what a table had no room for: the one frame of a row of stacks, or
// the shape and the request of a row of operations whose own are not kept.
const Other = "(other)"

// Limits bounds a [Table].
type Limits struct {
	// Stacks is how many stacks it keeps, those on different devices or of different
	// kinds counted apart; 0 is DefaultStacks. A stack takes 256 bytes on average at
	// most.
	Stacks int
	// Rows is how many rows it keeps that have a shape or a request; 0 is
	// DefaultRows.
	Rows int
}

// The defaults of Limits.
const (
	DefaultStacks = 1 << 18
	DefaultRows   = 1 << 17
)

// Table adds up what operations took, by stack, device and kind, and within
// these by shape and request. Its rows depend on what was added, not on the
// order or on how it was divided among tables that were merged. It is not safe for
// concurrent use.
type Table struct {
	// Start and End are the first start and the last end of the operations in Unix
	// nanoseconds, unknown where no operation has a start.
	Start, End op.Int
	// HostSide counts the operations that were left out as the host's view of work
	// of a device, Duplicates those whose ids other operations have.
	HostSide, Duplicates int64

	stacks  *table.Table[total]
	details *table.Table[detail]
	key     []byte
}

// total is what the operations of a stack, device and kind took.
type total struct {
	key string
	all Values
	// plain is the part of those that have neither a shape nor a request.
	plain Values
}

// detail is what those of them with a shape and a request took.
type detail struct {
	key   string
	stack int // the length of the key of their total, with which key begins
	Values
}

// NewTable returns an empty table.
func NewTable(limits Limits) *Table {
	return &Table{
		stacks: table.New(cmp.Or(max(0, limits.Stacks), DefaultStacks), func(dst, src *total) {
			dst.all.Add(src.all)
			dst.plain.Add(src.plain)
		}),
		details: table.New(cmp.Or(max(0, limits.Rows), DefaultRows), func(dst, src *detail) { dst.Add(src.Values) }),
	}
}

// Add adds operations at the end of a path. It keeps nothing of path.
func (t *Table) Add(path *Path, l *Labels, v Values) {
	t.key = append(appendText(t.key[:0], l.Device), byte(l.Kind))
	t.key = append(t.key, path.text...)
	sum, isNew := t.stacks.Row(t.key)
	if isNew {
		sum.Value.key = sum.Key()
	}
	sum.Value.all.Add(v)
	if l.Shape == "" && l.Request == (Request{}) {
		sum.Value.plain.Add(v)
		return
	}
	n := len(t.key)
	t.key = appendText(appendText(t.key, l.Shape), l.Request.Name)
	t.key = append(append(t.key, l.Request.TraceID[:]...), l.Request.SpanID[:]...)
	row, isNew := t.details.Row(t.key)
	if isNew {
		row.Value.key, row.Value.stack = row.Key(), n
	}
	row.Value.Add(v)
}

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
	t.stacks.Merge(o.stacks, func(dst, src *total) { dst.key = src.key })
	t.details.Merge(o.details, func(dst, src *detail) { dst.key, dst.stack = src.key, src.stack })
}

// Bytes returns about how much memory t takes.
func (t *Table) Bytes() int64 { return t.stacks.Bytes() + t.details.Bytes() }

// Overflowed returns how many stacks, and how many rows with a shape or a request,
// there was no room for; estimates where there are very many.
func (t *Table) Overflowed() (stacks, rows int64) {
	return t.stacks.Overflowed(), t.details.Overflowed()
}

// Row is what the operations of one stack took that have the same labels.
type Row struct {
	// Frames are names from the root down, as they were recorded.
	Frames []string
	Labels
	Values
}

// Rows returns the rows, sorted by frames and labels. They add up to all that was
// added: where the shapes and requests of operations are not kept, their stack has a
// row with [Other] in place of these, and where the stack is not, they are in a row with
// that one frame.
func (t *Table) Rows() []Row {
	var rows []Row
	sums := make(map[string]*unshown)
	for sum, other := range t.stacks.All() {
		if other {
			rows = append(rows, Row{Frames: []string{Other}, Values: sum.all})
			continue
		}
		frames, labels := stackOf(sum.key)
		rest := &unshown{frames: frames, labels: labels, values: sum.all}
		sums[sum.key] = rest
		if sum.plain.Count > 0 {
			rows = append(rows, Row{frames, labels, sum.plain})
			rest.values.sub(sum.plain)
		}
	}
	for d, other := range t.details.All() {
		if other {
			continue
		}
		if rest := sums[d.key[:d.stack]]; rest != nil {
			rows = append(rows, Row{rest.frames, d.labels(rest.labels), d.Values})
			rest.values.sub(d.Values)
		}
	}
	for _, rest := range sums {
		if rest.values.Count > 0 {
			rest.labels.Shape, rest.labels.Request.Name = Other, Other
			rows = append(rows, Row{rest.frames, rest.labels, rest.values})
		}
	}
	slices.SortFunc(rows, compareRows)
	return rows
}

// unshown is what of a stack no row has shown yet.
type unshown struct {
	frames []string
	labels Labels
	values Values
}

// stackOf returns what the key of a total says.
func stackOf(key string) ([]string, Labels) {
	device, rest := cutText(key)
	return framesOf(rest[1:]), Labels{Device: device, Kind: op.Kind(rest[0])}
}

// framesOf returns the frames in the text of a path.
func framesOf(text string) []string {
	frames := []string{}
	for text != "" {
		var frame string
		frame, text = cutText(text)
		frames = append(frames, frame)
	}
	return frames
}

// labels returns the labels of d, given those of its total.
func (d *detail) labels(of Labels) Labels {
	var ids string
	of.Shape, ids = cutText(d.key[d.stack:])
	of.Request.Name, ids = cutText(ids)
	copy(of.Request.SpanID[:], ids[copy(of.Request.TraceID[:], ids):])
	return of
}

func compareRows(a, b Row) int {
	return cmp.Or(
		slices.Compare(a.Frames, b.Frames), strings.Compare(a.Device, b.Device), cmp.Compare(a.Kind, b.Kind),
		strings.Compare(a.Shape, b.Shape), strings.Compare(a.Request.Name, b.Request.Name),
		bytes.Compare(a.Request.TraceID[:], b.Request.TraceID[:]), bytes.Compare(a.Request.SpanID[:], b.Request.SpanID[:]),
		cmp.Compare(a.Count, b.Count),
	)
}
