package clickhouse

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// row is a row of the table of records: a column per field. Columns are named as
// in Parquet. A pointer is a column that may be null, which is what is not known;
// other columns have an empty text, an empty list or 0 for it.
type row struct {
	// Input and Row identify the record: the input by its digest, and the number of
	// the record in it.
	Input uint64 `ch:"input" type:"UInt64"`
	Row   uint64 `ch:"row" type:"UInt64"`
	// Record is entry, span, resource, gap or batch.
	Record   string  `ch:"record" type:"String"`
	DeviceID *string `ch:"device_id" type:"Nullable(String)"`
	// InputShapes has an empty list for an input of unknown shape, whose place
	// UnknownInputs has. Where HasInputShapes is 0, nothing is known of the inputs.
	InputShapes    [][]int64 `ch:"input_shapes" type:"Array(Array(Int64))"`
	UnknownInputs  []int64   `ch:"unknown_inputs" type:"Array(Int64)"`
	HasInputShapes uint8     `ch:"has_input_shapes" type:"UInt8"`
	OutputShape    []int64   `ch:"output_shape" type:"Array(Int64)"`
	HasOutputShape uint8     `ch:"has_output_shape" type:"UInt8"`
	// Shapes are the shapes and the element type as text: the key shape of reports.
	Shapes string `ch:"shapes" type:"String"`
	// WorkFLOPs are FLOPs or, where WorkDerived is 1, what follows from the name and
	// the shapes; MovedBytes is the size of inputs and outputs.
	WorkFLOPs   *int64 `ch:"work_flops" type:"Nullable(Int64)"`
	WorkDerived uint8  `ch:"work_derived" type:"UInt8"`
	MovedBytes  *int64 `ch:"moved_bytes" type:"Nullable(Int64)"`
	Host        string `ch:"host" type:"String"`

	InputDTypes []string `ch:"input_dtypes" type:"Array(String)"`
	Failed      uint8    `ch:"failed" type:"UInt8"`
	AttrK       []string `ch:"attr_k" type:"Array(String)"`
	AttrV       []string `ch:"attr_v" type:"Array(String)"`
	Warn        []string `ch:"warn" type:"Array(String)"`

	IsCollective uint8 `ch:"is_collective" type:"UInt8"`

	Name         string   `ch:"name" type:"String"`
	ParentRemote uint8    `ch:"parent_remote" type:"UInt8"`
	WorldSize    *int64   `ch:"world_size" type:"Nullable(Int64)"`
	GapDropped   int64    `ch:"gap_dropped" type:"Int64"`
	GapReason    string   `ch:"gap_reason" type:"String"`
	BatchWriter  string   `ch:"batch_writer" type:"String"`
	BatchSeq     int64    `ch:"batch_seq" type:"Int64"`
	BatchEntries int64    `ch:"batch_entries" type:"Int64"`
	LinkTraceIDs []string `ch:"link_trace_ids" type:"Array(String)"`
	LinkSpanIDs  []string `ch:"link_span_ids" type:"Array(String)"`
	LinkWeights  []int64  `ch:"link_weights" type:"Array(Int64)"`
	LinkWeighted []uint8  `ch:"link_weighted" type:"Array(UInt8)"`
	Extra        string   `ch:"extra" type:"String"`

	// e holds the other fields of an entry, which other records have in common with it, and about what is
	// known of a collective.
	e     op.Entry
	about op.Collective
	// cells are the places of their columns in the answer of a query.
	cells []cell

	extraScratch, shapesScratch []byte
}

// order names columns in their order; any others follow.
var order = []string{
	"input", "row", "record", "step", "operation", "device_id", "input_shapes", "unknown_inputs", "has_input_shapes", "output_shape",
	"has_output_shape", "shapes", "duration_ns", "output_elements", "memory_bytes", "kind", "kind_rule", "dtype", "start_unix_ns",
	"launch_unix_ns", "stream", "rank", "flops", "work_flops", "work_derived", "moved_bytes", "trace_id", "span_id", "parent_span_id",
	"root", "root_span_id", "service", "host", "scope", "path", "input_dtypes", "side", "failed", "error", "adjusted_count",
	"dropped_attributes", "attr_k", "attr_v", "warn", "is_collective", "collective_name", "collective_group", "collective_group_size",
	"collective_sequence", "collective_peer_rank", "collective_in_elements", "collective_out_elements", "name", "parent_remote",
	"world_size", "gap_dropped", "gap_reason", "batch_writer", "batch_seq", "batch_entries", "link_trace_ids", "link_span_ids",
	"link_weights", "link_weighted", "extra",
}

// column is a column of the table of records.
type column struct {
	name, typ string
	// field is the field of a row that holds it, or value returns its value and cell a place for it.
	field int
	value func(r *row) any
	cell  func(r *row) cell
}

// cell is a place for the value of a column that is a field of an entry, and what sets the field.
type cell struct {
	place any // a pointer
	set   func() error
}

// columns returns the columns in their order.
func columns() []column {
	var list []column
	t := reflect.TypeFor[row]()
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("ch"); name != "" {
			list = append(list, column{name: name, typ: t.Field(i).Tag.Get("type"), field: i})
		}
	}
	list = appendFields(list, "", op.Columns, func(r *row) *op.Entry { return &r.e })
	list = appendFields(list, "collective_", op.CollectiveColumns, func(r *row) *op.Collective { return &r.about })
	place := func(c column) int {
		if i := slices.Index(order, c.name); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(list, func(a, b column) int { return place(a) - place(b) })
	return list
}

// appendFields appends the columns for those fields of a part of a row that a row has no field for.
func appendFields[T any](list []column, prefix string, fields []op.Column[T], of func(*row) *T) []column {
	for _, f := range fields {
		c := column{name: prefix + f.Name}
		if slices.ContainsFunc(list, func(other column) bool { return other.name == c.name }) {
			continue
		}
		switch at := f.At.(type) {
		case func(*T) *op.Int:
			hold(&c, "Nullable(Int64)", of, func(t *T) *int64 { return nullable(*at(t)) }, func(t *T, n *int64) error {
				*at(t) = known(n)
				return nil
			})
		case func(*T) *string:
			holdValue(&c, "String", of, at)
		case func(*T) op.Name:
			hold(&c, "String", of, func(t *T) string { return at(t).String() }, func(t *T, word string) error {
				if w := at(t).SetName(word); w&op.WarnBadValue != 0 {
					return fmt.Errorf("%.40q is no %s of an operation", word, f.Name)
				}
				return nil
			})
		case func(*T) []byte:
			hold(&c, "String", of, func(t *T) string { return idText(at(t)) }, func(t *T, text string) error { return setID(at(t), text) })
		case func(*T) *int64:
			holdValue(&c, "Int64", of, at)
		case func(*T) *float64:
			holdValue(&c, "Float64", of, at)
		default:
			continue // a row has a field for it
		}
		list = append(list, c)
	}
	return list
}

// hold makes c a column of values that get returns and set sets.
func hold[T, V any](c *column, typ string, of func(*row) *T, get func(*T) V, set func(*T, V) error) {
	c.typ = typ
	c.value = func(r *row) any { return get(of(r)) }
	c.cell = func(r *row) cell {
		place := new(V)
		return cell{place, func() error { return set(of(r), *place) }}
	}
}

// holdValue makes c a column of the values at a place.
func holdValue[T, V any](c *column, typ string, of func(*row) *T, at func(*T) *V) {
	hold(c, typ, of, func(t *T) V { return *at(t) }, func(t *T, v V) error {
		*at(t) = v
		return nil
	})
}

// values returns the values of the columns.
func (r *row) values(dst []any, list []column) []any {
	v := reflect.ValueOf(r).Elem()
	for _, c := range list {
		if c.value != nil {
			dst = append(dst, c.value(r))
		} else {
			dst = append(dst, v.Field(c.field).Interface())
		}
	}
	return dst
}

// places returns pointers to where the values of the columns go.
func (r *row) places(dst []any, list []column) []any {
	v := reflect.ValueOf(r).Elem()
	r.cells = nil
	for _, c := range list {
		if c.cell != nil {
			r.cells = append(r.cells, c.cell(r))
			dst = append(dst, r.cells[len(r.cells)-1].place)
		} else {
			dst = append(dst, v.Field(c.field).Addr().Interface())
		}
	}
	return dst
}

// scanned sets the fields whose columns were read to places.
func (r *row) scanned() error {
	for _, c := range r.cells {
		if err := c.set(); err != nil {
			return fmt.Errorf("row %d of input %d: %w", r.Row, r.Input, err)
		}
	}
	return nil
}

// The values of the column record.
const (
	recordEntry    = "entry"
	recordSpan     = "span"
	recordResource = "resource"
	recordGap      = "gap"
	recordBatch    = "batch"
)

// set makes r the row of a record; ok is false for one that has no row. The texts
// and lists of r are those of the record.
func (r *row) set(rec op.Record) (ok bool) {
	*r = row{Input: r.Input, Row: r.Row, extraScratch: r.extraScratch, shapesScratch: r.shapesScratch}
	switch {
	case rec.Entry != nil:
		r.setEntry(rec.Entry)
	case rec.Span != nil:
		r.setSpan(rec.Span)
	case rec.Resource != nil:
		s := rec.Resource
		r.Record, r.e.Service, r.e.Rank, r.WorldSize = recordResource, s.Service, s.Rank, nullable(s.WorldSize)
		r.setAttrs(s.Attrs)
		r.setExtra(s.Attrs, nil, nil)
	case rec.Gap != nil:
		r.Record, r.GapDropped, r.GapReason = recordGap, rec.Gap.Dropped, rec.Gap.Reason
	case rec.Batch != nil:
		b := rec.Batch
		r.Record, r.BatchWriter, r.BatchSeq, r.BatchEntries = recordBatch, b.Writer, b.Sequence, b.Entries
	default:
		return false
	}
	return true
}

func (r *row) setEntry(e *op.Entry) {
	r.Record, r.e, r.Host, r.Failed = recordEntry, *e, e.Host, number(e.Failed)
	if e.HasDevice() {
		r.DeviceID = &e.DeviceID
	}
	r.setShapes(e)
	r.setWork(e)
	for _, t := range e.InputDTypes {
		r.InputDTypes = append(r.InputDTypes, string(t))
	}
	r.setAttrs(e.Attrs)
	r.setLinks(e.Links)
	r.setExtra(e.Attrs, e.Links, e.Extra)
	for w := range e.Warn.All() {
		if name := w.String(); name != "" {
			r.Warn = append(r.Warn, name)
		}
	}
	if e.Collective != nil {
		r.IsCollective, r.about = 1, *e.Collective
	}
}

func (r *row) setSpan(s *op.Span) {
	r.e = op.Entry{
		TraceID: s.TraceID, SpanID: s.SpanID, ParentSpanID: s.ParentSpanID, Start: s.Start, Duration: s.Duration, Service: s.Service,
	}
	r.Record, r.Name, r.ParentRemote, r.Failed = recordSpan, s.Name, number(s.RemoteParent), number(s.Failed)
	r.setAttrs(s.Attrs)
	r.setLinks(s.Links)
	r.setExtra(s.Attrs, s.Links, s.Extra)
}

func (r *row) setShapes(e *op.Entry) {
	r.HasInputShapes, r.HasOutputShape, r.OutputShape = number(e.InputShapes != nil), number(e.OutputShape != nil), e.OutputShape
	for i, s := range e.InputShapes {
		r.InputShapes = append(r.InputShapes, s)
		if s == nil {
			r.UnknownInputs = append(r.UnknownInputs, int64(i))
		}
	}
	r.shapesScratch = e.AppendShapes(r.shapesScratch[:0])
	r.Shapes = string(r.shapesScratch)
}

func (r *row) setAttrs(attrs []op.Attr) {
	for _, a := range attrs {
		r.AttrK, r.AttrV = append(r.AttrK, a.Key), append(r.AttrV, a.Value)
	}
}

func (r *row) setLinks(links []op.Link) {
	for i := range links {
		l := &links[i]
		r.LinkTraceIDs, r.LinkSpanIDs = append(r.LinkTraceIDs, idText(l.TraceID[:])), append(r.LinkSpanIDs, idText(l.SpanID[:]))
		r.LinkWeights, r.LinkWeighted = append(r.LinkWeights, l.Weight.V), append(r.LinkWeighted, number(l.Weight.Known))
	}
}

// setExtra sets the column of what no other column holds.
func (r *row) setExtra(attrs []op.Attr, links []op.Link, x *op.Extra) {
	r.extraScratch = op.AppendRest(r.extraScratch[:0], attrs, links, x)
	r.Extra = string(r.extraScratch)
}

// record returns the record of the row.
func (r *row) record() (op.Record, error) {
	switch r.Record {
	case recordEntry:
		e, err := r.entry()
		return op.Record{Entry: e}, err
	case recordSpan:
		s, err := r.span()
		return op.Record{Span: s}, err
	case recordResource:
		s := &op.Resource{Service: r.e.Service, Rank: r.e.Rank, WorldSize: known(r.WorldSize), Attrs: r.attrs()}
		entries.DecodeRest(r.Extra, s.Attrs, nil)
		return op.Record{Resource: s}, nil
	case recordGap:
		return op.Record{Gap: &op.Gap{Dropped: r.GapDropped, Reason: r.GapReason}}, nil
	case recordBatch:
		return op.Record{Batch: &op.Batch{Writer: r.BatchWriter, Sequence: r.BatchSeq, Entries: r.BatchEntries}}, nil
	}
	return op.Record{}, fmt.Errorf("row %d of input %d: %.40q is no kind of record", r.Row, r.Input, r.Record)
}

func (r *row) entry() (*op.Entry, error) {
	e := new(op.Entry)
	*e = r.e
	e.Host, e.Failed, e.Attrs = r.Host, r.Failed != 0, r.attrs()
	e.DeviceID, e.EmptyDevice, e.InputShapes, e.OutputShape, e.InputDTypes, e.Collective, e.Warn = "", false, nil, nil, nil, nil, 0
	if r.DeviceID != nil {
		e.DeviceID, e.EmptyDevice = *r.DeviceID, *r.DeviceID == ""
	}
	if r.HasInputShapes != 0 {
		e.InputShapes = shapesOf(r.InputShapes, r.UnknownInputs)
	}
	if r.HasOutputShape != 0 {
		e.OutputShape = append(op.Shape{}, r.OutputShape...)
	}
	for _, t := range r.InputDTypes {
		e.InputDTypes = append(e.InputDTypes, op.DType(t))
	}
	for _, name := range r.Warn {
		if w, ok := op.ParseWarning(name); ok {
			e.Warn |= w
		}
	}
	if r.IsCollective != 0 {
		about := r.about
		e.Collective = &about
	}
	links, err := r.links()
	if err != nil {
		return nil, err
	}
	e.Links = links
	e.Extra, _ = entries.DecodeRest(r.Extra, e.Attrs, e.Links)
	return e, nil
}

func (r *row) span() (*op.Span, error) {
	s := &op.Span{
		Name: r.Name, TraceID: r.e.TraceID, SpanID: r.e.SpanID, ParentSpanID: r.e.ParentSpanID, RemoteParent: r.ParentRemote != 0,
		Start: r.e.Start, Duration: r.e.Duration, Service: r.e.Service, Failed: r.Failed != 0, Attrs: r.attrs(),
	}
	links, err := r.links()
	if err != nil {
		return nil, err
	}
	s.Links = links
	s.Extra, _ = entries.DecodeRest(r.Extra, s.Attrs, s.Links)
	return s, nil
}

// shapesOf returns the shapes of inputs, those of unknown ones nil.
func shapesOf(list [][]int64, unknown []int64) []op.Shape {
	shapes := make([]op.Shape, len(list))
	for i, s := range list {
		if !slices.Contains(unknown, int64(i)) {
			shapes[i] = append(op.Shape{}, s...)
		}
	}
	return shapes
}

func (r *row) attrs() []op.Attr {
	var attrs []op.Attr
	for i := range min(len(r.AttrK), len(r.AttrV)) {
		attrs = append(attrs, op.Attr{Key: r.AttrK[i], Value: r.AttrV[i]})
	}
	return attrs
}

func (r *row) links() ([]op.Link, error) {
	var links []op.Link
	n := min(len(r.LinkTraceIDs), len(r.LinkSpanIDs), len(r.LinkWeights), len(r.LinkWeighted))
	for i := range n {
		var l op.Link
		if r.LinkWeighted[i] != 0 {
			l.Weight = op.Known(r.LinkWeights[i])
		}
		if err := setID(l.TraceID[:], r.LinkTraceIDs[i]); err != nil {
			return nil, err
		}
		if err := setID(l.SpanID[:], r.LinkSpanIDs[i]); err != nil {
			return nil, err
		}
		links = append(links, l)
	}
	return links, nil
}

// setID sets an id, to none for an empty text.
func setID(id []byte, text string) error {
	if !op.ParseID(id, []byte(text)) && text != "" {
		return fmt.Errorf("%.40q is no id", text)
	}
	return nil
}

// idText returns the digits of an id, "" for none.
func idText(id []byte) string {
	if !slices.ContainsFunc(id, func(b byte) bool { return b != 0 }) {
		return ""
	}
	return hex.EncodeToString(id)
}

func nullable(n op.Int) *int64 {
	if !n.Known {
		return nil
	}
	return &n.V
}

func known(n *int64) op.Int {
	if n == nil {
		return op.Int{}
	}
	return op.Known(*n)
}

func number(set bool) uint8 {
	if set {
		return 1
	}
	return 0
}

// size returns about how many bytes the row takes.
func (r *row) size() int {
	const fixed = 400
	n := fixed + len(r.e.Operation) + len(r.Shapes) + len(r.e.Root) + len(r.e.Error) + len(r.e.Path) + len(r.e.Scope) +
		len(r.Name) + len(r.Extra) + len(r.e.Service) + len(r.Host) + 8*len(r.OutputShape) + 64*len(r.LinkTraceIDs)
	for _, s := range r.InputShapes {
		n += 8 + 8*len(s)
	}
	for i := range r.AttrK {
		n += 16 + len(r.AttrK[i]) + len(r.AttrV[i])
	}
	return n
}
