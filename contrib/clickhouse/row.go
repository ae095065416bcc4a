package clickhouse

import (
	"fmt"
	"reflect"

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
	Record    string  `ch:"record" type:"String"`
	Step      *int64  `ch:"step" type:"Nullable(Int64)"`
	Operation string  `ch:"operation" type:"String"`
	DeviceID  *string `ch:"device_id" type:"Nullable(String)"`
	// InputShapes has an empty list for an input of unknown shape, whose place
	// UnknownInputs has. Where HasInputShapes is 0, nothing is known of the inputs.
	InputShapes    [][]int64 `ch:"input_shapes" type:"Array(Array(Int64))"`
	UnknownInputs  []int64   `ch:"unknown_inputs" type:"Array(Int64)"`
	HasInputShapes uint8     `ch:"has_input_shapes" type:"UInt8"`
	OutputShape    []int64   `ch:"output_shape" type:"Array(Int64)"`
	HasOutputShape uint8     `ch:"has_output_shape" type:"UInt8"`
	// Shapes are the shapes and the element type as text: the key shape of reports.
	Shapes         string `ch:"shapes" type:"String"`
	DurationNS     int64  `ch:"duration_ns" type:"Int64"`
	OutputElements *int64 `ch:"output_elements" type:"Nullable(Int64)"`
	MemoryBytes    *int64 `ch:"memory_bytes" type:"Nullable(Int64)"`
	Kind           string `ch:"kind" type:"String"`
	KindRule       string `ch:"kind_rule" type:"String"`
	DType          string `ch:"dtype" type:"String"`
	StartUnixNS    *int64 `ch:"start_unix_ns" type:"Nullable(Int64)"`
	LaunchUnixNS   *int64 `ch:"launch_unix_ns" type:"Nullable(Int64)"`
	Stream         *int64 `ch:"stream" type:"Nullable(Int64)"`
	Rank           *int64 `ch:"rank" type:"Nullable(Int64)"`
	FLOPs          *int64 `ch:"flops" type:"Nullable(Int64)"`
	// WorkFLOPs are FLOPs or, where WorkDerived is 1, what follows from the name and
	// the shapes; MovedBytes is the size of inputs and outputs.
	WorkFLOPs    *int64 `ch:"work_flops" type:"Nullable(Int64)"`
	WorkDerived  uint8  `ch:"work_derived" type:"UInt8"`
	MovedBytes   *int64 `ch:"moved_bytes" type:"Nullable(Int64)"`
	TraceID      string `ch:"trace_id" type:"String"`
	SpanID       string `ch:"span_id" type:"String"`
	ParentSpanID string `ch:"parent_span_id" type:"String"`
	Root         string `ch:"root" type:"String"`
	RootSpanID   string `ch:"root_span_id" type:"String"`
	Service      string `ch:"service" type:"String"`
	Host         string `ch:"host" type:"String"`
	Scope        string `ch:"scope" type:"String"`
	Path         string `ch:"path" type:"String"`

	InputDTypes       []string `ch:"input_dtypes" type:"Array(String)"`
	Side              string   `ch:"side" type:"String"`
	Failed            uint8    `ch:"failed" type:"UInt8"`
	Error             string   `ch:"error" type:"String"`
	AdjustedCount     float64  `ch:"adjusted_count" type:"Float64"`
	DroppedAttributes int64    `ch:"dropped_attributes" type:"Int64"`
	AttrK             []string `ch:"attr_k" type:"Array(String)"`
	AttrV             []string `ch:"attr_v" type:"Array(String)"`
	Warn              []string `ch:"warn" type:"Array(String)"`

	IsCollective          uint8  `ch:"is_collective" type:"UInt8"`
	CollectiveName        string `ch:"collective_name" type:"String"`
	CollectiveGroup       string `ch:"collective_group" type:"String"`
	CollectiveGroupSize   *int64 `ch:"collective_group_size" type:"Nullable(Int64)"`
	CollectiveSequence    *int64 `ch:"collective_sequence" type:"Nullable(Int64)"`
	CollectivePeerRank    *int64 `ch:"collective_peer_rank" type:"Nullable(Int64)"`
	CollectiveInElements  *int64 `ch:"collective_in_elements" type:"Nullable(Int64)"`
	CollectiveOutElements *int64 `ch:"collective_out_elements" type:"Nullable(Int64)"`

	Name          string   `ch:"name" type:"String"`
	ParentRemote  uint8    `ch:"parent_remote" type:"UInt8"`
	WorldSize     *int64   `ch:"world_size" type:"Nullable(Int64)"`
	GapDropped    int64    `ch:"gap_dropped" type:"Int64"`
	GapReason     string   `ch:"gap_reason" type:"String"`
	BatchWriter   string   `ch:"batch_writer" type:"String"`
	BatchSeq      int64    `ch:"batch_seq" type:"Int64"`
	BatchEntries  int64    `ch:"batch_entries" type:"Int64"`
	LinkTraceIDs  []string `ch:"link_trace_ids" type:"Array(String)"`
	LinkSpanIDs   []string `ch:"link_span_ids" type:"Array(String)"`
	LinkWeights   []int64  `ch:"link_weights" type:"Array(Int64)"`
	LinkWeighted  []uint8  `ch:"link_weighted" type:"Array(UInt8)"`
	Extra         string   `ch:"extra" type:"String"`
	extraScratch  []byte
	shapesScratch []byte
}

// column is a column of the table of records.
type column struct {
	name, typ string
	field     int
}

// columns returns the columns in their order.
func columns() []column {
	var list []column
	t := reflect.TypeFor[row]()
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("ch"); name != "" {
			list = append(list, column{name, t.Field(i).Tag.Get("type"), i})
		}
	}
	return list
}

// values returns the values of the columns.
func (r *row) values(dst []any, list []column) []any {
	v := reflect.ValueOf(r).Elem()
	for _, c := range list {
		dst = append(dst, v.Field(c.field).Interface())
	}
	return dst
}

// places returns pointers to the fields of the columns.
func (r *row) places(dst []any, list []column) []any {
	v := reflect.ValueOf(r).Elem()
	for _, c := range list {
		dst = append(dst, v.Field(c.field).Addr().Interface())
	}
	return dst
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
		r.Record, r.Service, r.Rank, r.WorldSize = recordResource, s.Service, nullable(s.Rank), nullable(s.WorldSize)
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
	r.Record = recordEntry
	r.Step, r.Operation = nullable(e.Step), e.Operation
	if e.HasDevice() {
		r.DeviceID = &e.DeviceID
	}
	r.setShapes(e)
	r.DurationNS, r.OutputElements, r.MemoryBytes = e.Duration, nullable(e.OutputElements), nullable(e.MemoryBytes)
	r.Kind, r.KindRule, r.DType = e.Kind.String(), e.KindRule.String(), string(e.DType)
	r.StartUnixNS, r.LaunchUnixNS = nullable(e.Start), nullable(e.Launch)
	r.Stream, r.Rank = nullable(e.Stream), nullable(e.Rank)
	r.setWork(e)
	r.TraceID, r.SpanID, r.ParentSpanID = traceText(e.TraceID), spanText(e.SpanID), spanText(e.ParentSpanID)
	r.Root, r.RootSpanID = e.Root, spanText(e.RootSpanID)
	r.Service, r.Host, r.Scope, r.Path = e.Service, e.Host, e.Scope, e.Path
	for _, t := range e.InputDTypes {
		r.InputDTypes = append(r.InputDTypes, string(t))
	}
	r.Side, r.Failed, r.Error = e.Side.String(), number(e.Failed), e.Error
	r.AdjustedCount, r.DroppedAttributes = e.AdjustedCount, e.DroppedAttributes
	r.setAttrs(e.Attrs)
	r.setLinks(e.Links)
	r.setExtra(e.Attrs, e.Links, e.Extra)
	for w := range e.Warn.All() {
		if name := w.String(); name != "" {
			r.Warn = append(r.Warn, name)
		}
	}
	if c := e.Collective; c != nil {
		r.IsCollective, r.CollectiveName, r.CollectiveGroup = 1, c.Name, c.Group
		r.CollectiveGroupSize, r.CollectiveSequence = nullable(c.GroupSize), nullable(c.Sequence)
		r.CollectivePeerRank = nullable(c.PeerRank)
		r.CollectiveInElements, r.CollectiveOutElements = nullable(c.InElements), nullable(c.OutElements)
	}
}

func (r *row) setSpan(s *op.Span) {
	r.Record, r.Name = recordSpan, s.Name
	r.TraceID, r.SpanID, r.ParentSpanID = traceText(s.TraceID), spanText(s.SpanID), spanText(s.ParentSpanID)
	r.ParentRemote, r.StartUnixNS, r.DurationNS = number(s.RemoteParent), nullable(s.Start), s.Duration
	r.Service, r.Failed = s.Service, number(s.Failed)
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
		r.LinkTraceIDs, r.LinkSpanIDs = append(r.LinkTraceIDs, traceText(l.TraceID)), append(r.LinkSpanIDs, spanText(l.SpanID))
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
		s := &op.Resource{Service: r.Service, Rank: known(r.Rank), WorldSize: known(r.WorldSize), Attrs: r.attrs()}
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
	e := &op.Entry{
		Step: known(r.Step), Operation: r.Operation, Root: r.Root, Service: r.Service, Host: r.Host, Scope: r.Scope, Path: r.Path,
		Duration: r.DurationNS, OutputElements: known(r.OutputElements), MemoryBytes: known(r.MemoryBytes),
		DType: op.DType(r.DType), Start: known(r.StartUnixNS), Launch: known(r.LaunchUnixNS),
		Stream: known(r.Stream), Rank: known(r.Rank), FLOPs: known(r.FLOPs), Failed: r.Failed != 0, Error: r.Error,
		AdjustedCount: r.AdjustedCount, DroppedAttributes: r.DroppedAttributes, Attrs: r.attrs(),
	}
	if r.DeviceID != nil {
		e.DeviceID, e.EmptyDevice = *r.DeviceID, *r.DeviceID == ""
	}
	if r.HasInputShapes != 0 {
		e.InputShapes = make([]op.Shape, len(r.InputShapes))
		for i, s := range r.InputShapes {
			e.InputShapes[i] = append(op.Shape{}, s...)
		}
		for _, i := range r.UnknownInputs {
			if 0 <= i && i < int64(len(e.InputShapes)) {
				e.InputShapes[i] = nil
			}
		}
	}
	if r.HasOutputShape != 0 {
		e.OutputShape = append(op.Shape{}, r.OutputShape...)
	}
	for _, t := range r.InputDTypes {
		e.InputDTypes = append(e.InputDTypes, op.DType(t))
	}
	kind, ok := op.ParseKind(r.Kind)
	if !ok && r.Kind != "" {
		return nil, fmt.Errorf("row %d of input %d: %.40q is no kind of operation", r.Row, r.Input, r.Kind)
	}
	e.Kind, e.KindRule = kind, kindRule(r.KindRule)
	if r.Side == op.SideHost.String() {
		e.Side = op.SideHost
	}
	for _, name := range r.Warn {
		if w, ok := op.ParseWarning(name); ok {
			e.Warn |= w
		}
	}
	if r.IsCollective != 0 {
		e.Collective = &op.Collective{
			Name: r.CollectiveName, Group: r.CollectiveGroup,
			GroupSize: known(r.CollectiveGroupSize), Sequence: known(r.CollectiveSequence), PeerRank: known(r.CollectivePeerRank),
			InElements: known(r.CollectiveInElements), OutElements: known(r.CollectiveOutElements),
		}
	}
	links, err := r.links()
	if err != nil {
		return nil, err
	}
	e.Links = links
	e.Extra, _ = entries.DecodeRest(r.Extra, e.Attrs, e.Links)
	return e, r.ids(&e.TraceID, &e.SpanID, &e.ParentSpanID, &e.RootSpanID)
}

func (r *row) span() (*op.Span, error) {
	s := &op.Span{
		Name: r.Name, RemoteParent: r.ParentRemote != 0, Start: known(r.StartUnixNS), Duration: r.DurationNS,
		Service: r.Service, Failed: r.Failed != 0, Attrs: r.attrs(),
	}
	links, err := r.links()
	if err != nil {
		return nil, err
	}
	s.Links = links
	s.Extra, _ = entries.DecodeRest(r.Extra, s.Attrs, s.Links)
	var root op.SpanID
	return s, r.ids(&s.TraceID, &s.SpanID, &s.ParentSpanID, &root)
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
		if err := setID(&l.TraceID, r.LinkTraceIDs[i]); err != nil {
			return nil, err
		}
		if err := setID(&l.SpanID, r.LinkSpanIDs[i]); err != nil {
			return nil, err
		}
		links = append(links, l)
	}
	return links, nil
}

func (r *row) ids(trace *op.TraceID, span, parent, root *op.SpanID) error {
	for _, id := range []struct {
		id   interface{ UnmarshalText([]byte) error }
		text string
	}{{trace, r.TraceID}, {span, r.SpanID}, {parent, r.ParentSpanID}, {root, r.RootSpanID}} {
		if err := setID(id.id, id.text); err != nil {
			return fmt.Errorf("row %d of input %d: %w", r.Row, r.Input, err)
		}
	}
	return nil
}

// setID sets an id, to none for an empty text.
func setID(id interface{ UnmarshalText([]byte) error }, text string) error {
	if text == "" {
		return nil
	}
	return id.UnmarshalText([]byte(text))
}

func traceText(id op.TraceID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

func spanText(id op.SpanID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

// kindRule returns the rule of the name.
func kindRule(name string) op.KindRule {
	for r := op.RuleAttribute; r.String() != ""; r++ {
		if r.String() == name {
			return r
		}
	}
	return op.RuleDefault
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
	n := fixed + len(r.Operation) + len(r.Shapes) + len(r.Root) + len(r.Error) + len(r.Path) + len(r.Scope) + len(r.Name) + len(r.Extra) +
		len(r.Service) + len(r.Host) + 8*len(r.OutputShape) + 64*len(r.LinkTraceIDs)
	for _, s := range r.InputShapes {
		n += 8 + 8*len(s)
	}
	for i := range r.AttrK {
		n += 16 + len(r.AttrK[i]) + len(r.AttrV[i])
	}
	return n
}
