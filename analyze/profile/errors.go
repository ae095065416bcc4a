package profile

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/analyze/internal/table"
	"github.com/optrace/optrace/analyze/internal/wide"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/op"
)

// Error counts operations of one name with the same error.
type Error struct {
	// Text is the error text, "" if not recorded.
	Text      string `json:"text"`
	Operation string `json:"operation"`
	Side      string `json:"side,omitempty"`
	Count     int64  `json:"count"`
	// First is the earliest operation.
	First Occurrence `json:"first"`
}

// Occurrence identifies an operation with its start in Unix nanoseconds. Unknown ids are zero.
type Occurrence struct {
	TraceID op.TraceID `json:"trace_id,omitzero"`
	SpanID  op.SpanID  `json:"span_id,omitzero"`
	StartNS op.Int     `json:"start_unix_ns"`
}

// compare orders by start and then by ids, unknown values last.
func (o *Occurrence) compare(p *Occurrence) int {
	return cmp.Or(order.Flags(p.StartNS.Known, o.StartNS.Known), cmp.Compare(o.StartNS.V, p.StartNS.V),
		order.Flags(o.SpanID.IsZero(), p.SpanID.IsZero()), bytes.Compare(o.TraceID[:], p.TraceID[:]),
		bytes.Compare(o.SpanID[:], p.SpanID[:]))
}

// errorSums counts errors by text and operation in bounded memory. Errors beyond the limit share a row "(other)".
type errorSums struct {
	rows *table.Table[Error]
	key  []byte // scratch
}

// Bounds of errorSums. The texts of an input may all differ.
const (
	maxErrorRows = 10_000
	maxErrorText = 1 << 10
)

func newErrorSums(limit int) *errorSums {
	return &errorSums{rows: table.New(min(limit, maxErrorRows), (*Error).fold)}
}

func appendErrorKey(dst []byte, side, operation, text string) []byte {
	return append(key.AppendCounted(key.AppendCounted(dst, side), operation), text...)
}

func (s *errorSums) add(side op.Side, operation, text string, at Occurrence) {
	if opfile.IsLocal(at.TraceID) { // ids of local traces are useless
		at.TraceID = op.TraceID{}
		at.SpanID = op.SpanID{}
	}
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + cutMark
	}
	s.key = appendErrorKey(s.key[:0], side.String(), operation, text)
	row, isNew := s.rows.Row(s.key)
	if isNew {
		own := row.Key() // text may be part of a large string
		at := len(own) - len(text)
		row.Value.Text = own[at:]
		row.Value.Operation = own[at-len(operation) : at]
		row.Value.Side = side.String()
	}
	row.Value.fold(&Error{Count: 1, First: at})
}

// list returns the rows, largest count first, then by text. It is never nil.
func (s *errorSums) list() []Error {
	rows := []Error{}
	for row, other := range s.rows.All() {
		e := *row
		if other {
			e.Text = key.Other
			e.Operation = key.Other
		}
		rows = append(rows, e)
	}
	slices.SortFunc(rows, func(a, b Error) int {
		return cmp.Or(
			cmp.Compare(b.Count, a.Count), strings.Compare(a.Text, b.Text),
			strings.Compare(a.Operation, b.Operation), strings.Compare(a.Side, b.Side),
		)
	})
	return rows
}

// ErrorsOf returns the errors of nodes, largest count first, then by text: at most limit rows and one row for all
// others. Error.Operation is the node's name. Repeats are ignored. The list is never nil.
func ErrorsOf(nodes iter.Seq[trace.Node], limit int) []Error {
	sums := newErrorSums(limit)
	for n := range nodes {
		if text, failed := n.Failure(); failed && !n.Forest.Has(n.Row, trace.FlagRepeat) {
			sums.add(n.Side(), n.Name(), text, Occurrence{n.TraceID(), n.SpanID(), n.Start()})
		}
	}
	return sums.list()
}

func (e *Error) fold(src *Error) {
	if e.Count == 0 || src.First.compare(&e.First) < 0 {
		e.First = src.First
	}
	e.Count += src.Count
}

// errorLine is a row of errors in partial results.
type errorLine struct {
	Error
	Other *table.Other `json:"other,omitempty"`
}

func (p *Profile) addErrorLine(l *errorLine) error {
	var side op.Side
	if side.SetName(l.Side) != 0 {
		return ErrText
	}
	if l.Count < 1 || !wide.AreCounts(l.Count) {
		return ErrNumber
	}
	return p.errors.rows.Put(appendErrorKey(nil, l.Side, l.Operation, l.Text), l.Error, l.Other)
}
