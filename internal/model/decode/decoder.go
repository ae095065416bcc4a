// Package decode reads records of the entries format, line by line, for packages entries and seed. It reads any JSON,
// and the form of package op's writers in one pass.
package decode

import (
	"errors"
	"fmt"
	"math"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// Decoder reads records of the entries format and of seed traces. It reuses the memory of earlier records.
type Decoder struct {
	Lex     lexer.Lexer
	strings intern.Table
	short   intern.Short // the short ones of strings
	kinds   opmodel.KindCache

	Entry    op.Entry
	coll     op.Collective
	Span     op.Span
	resource op.Resource
	gap      op.Gap
	batch    op.Batch

	// Canonical has read a span, not an entry.
	IsSpan bool
	tail   []byte // see Canonical

	inputs []op.Shape
	dims   []int64 // backs all shapes of an entry
	dtypes []op.DType
	attrs  []op.Attr
	Index  opmodel.AttrIndex // of all attributes of a record
	links  []op.Link
	link   op.Link // under way

	// Rare parts of entries.
	extra      op.Extra
	eventList  []op.Event
	moreAttrs  []op.Attr // of events, links and scopes
	linkExtras []op.LinkExtra

	has    fieldsSeen
	next   int  // column of a member, see find
	Header bool // the record is a header

	// The texts of the record before. They mostly repeat.
	lastRoot, lastService, lastScope string

	Fault   string // the first error in a record of valid JSON
	FaultAt int    // its offset
}

// fieldsSeen is the set of an entry's keys, as far as their absence matters.
type fieldsSeen uint8

const (
	hasAny fieldsSeen = 1 << iota
	hasDuration
	hasDurationNS
	hasElements
	hasMemory
	hasRule
	hasCutOutput // the output's shape lost dimensions to MaxRank
)

// set adds f to the fields seen, or removes it: of equal keys the last wins.
func (s *fieldsSeen) set(f fieldsSeen, seen bool) {
	if *s &^= f; seen {
		*s |= f
	}
}

// Record reads one line. The error is one of the grammar or of the format, with its offset in the line.
func (d *Decoder) Record(line []byte) (rec op.Record, offset int, err error) {
	d.Lex.Reset(line)
	d.Reset()
	l := &d.Lex
	unknown := false
	control := false
	d.Header = false
	var foreign *SchemaError
	for l.Object(); l.More(); {
		name := l.Key()
		if d.Field(name) {
			d.has |= hasAny
			continue
		}
		switch string(name) {
		case "schema":
			control = true
			d.Header = true
			if s := string(l.Str()); l.Err() == nil && s != op.Schema {
				foreign = &SchemaError{s}
			}
		case "resource":
			control = true
			d.Header = true
			rec = op.Record{Resource: record(d, resourceMembers, &d.resource)}
		case "batch":
			control = true
			rec = op.Record{Batch: record(d, batchMembers, &d.batch)}
		case "gap":
			control = true
			rec = op.Record{Gap: record(d, gapMembers, &d.gap)}
		case "span":
			control = true
			rec = op.Record{Span: d.decodeSpan()}
		case "call":
			control = true
			rec = op.Record{Call: d.decodeCall()}
		default:
			unknown = true
			l.Skip()
		}
	}
	l.End()
	switch {
	case l.Err() != nil:
		return op.Record{}, l.Offset(), l.Err()
	case foreign != nil: // last, because a damaged line must not end the reading
		return op.Record{}, 0, foreign
	case control && d.has&hasAny != 0:
		return op.Record{}, 0, errors.New("an entry and another record in one")
	case d.has&hasAny != 0:
		d.Finish()
		rec.Entry = &d.Entry
	case unknown && !control:
		rec.Skipped = op.Skipped{Reason: op.SkipUnknownRecord, N: 1}
	}
	if d.Fault != "" {
		return op.Record{}, d.FaultAt, errors.New(d.Fault)
	}
	return rec, 0, nil
}

// ErrorClass returns the class of Record's error.
func (d *Decoder) ErrorClass() op.ErrorClass {
	if d.Lex.Err() != nil {
		return op.ErrorSyntax
	}
	return op.ErrorRecord
}

// SchemaError ends reading: the file has an unsupported version.
type SchemaError struct{ Schema string }

func (e *SchemaError) Error() string {
	return fmt.Sprintf("schema %q is not supported, this version reads %q", e.Schema, op.Schema)
}

// Reset clears the entry.
func (d *Decoder) Reset() {
	d.Entry = op.Entry{}
	d.Index.Held.Reset()
	d.has = 0
	d.next = 0
	d.inputs = d.inputs[:0]
	d.dims = d.dims[:0]
	d.dtypes = d.dtypes[:0]
	d.attrs = d.attrs[:0]
	d.moreAttrs = d.moreAttrs[:0]
	d.linkExtras = d.linkExtras[:0]
	d.Fault = ""
}

// Wrong records a fault that makes the record useless. The first one counts.
func (d *Decoder) Wrong(fault string) {
	if d.Fault == "" {
		d.Fault = fault
		d.FaultAt = d.Lex.Offset()
	}
}

// Finish checks the required fields of the entry, and derives fields from others.
func (d *Decoder) Finish() {
	e := &d.Entry
	switch {
	case e.Operation == "":
		d.Wrong("an entry without an operation")
	case d.has&hasDuration == 0:
		d.Wrong("an entry without a duration")
	}
	opfile.Finish(e, opfile.Given{
		Rule: d.has&hasRule != 0, Elements: d.has&(hasElements|hasCutOutput) != 0, Memory: d.has&hasMemory != 0,
	}, &d.kinds)
}

type members[T any] map[string]func(*Decoder, *T)

func (m members[T]) read(d *Decoder, v *T) {
	l := &d.Lex
	for l.Object(); l.More(); {
		if read, ok := m[string(l.Key())]; ok {
			read(d, v)
		} else {
			l.Skip()
		}
	}
}

// record reads the value of a record other than an entry; null gives nil.
func record[T any](d *Decoder, m members[T], v *T) *T {
	if d.Lex.Null() {
		return nil
	}
	*v = *new(T)
	m.read(d, v)
	return v
}

var spanMembers = members[op.Span]{
	"name":           func(d *Decoder, s *op.Span) { s.Name = d.text() },
	"trace_id":       func(d *Decoder, s *op.Span) { d.id(s.TraceID[:], false) },
	"span_id":        func(d *Decoder, s *op.Span) { d.id(s.SpanID[:], false) },
	"parent_span_id": func(d *Decoder, s *op.Span) { d.id(s.ParentSpanID[:], true) },
	"parent_remote":  func(d *Decoder, s *op.Span) { s.RemoteParent = d.flag() },
	"start_unix_ns":  func(d *Decoder, s *op.Span) { s.Start = d.Integer(op.WarnBadTime) },
	"duration_ns":    func(d *Decoder, s *op.Span) { s.Duration = d.amount(op.WarnNegativeDuration).V },
	"service":        func(d *Decoder, s *op.Span) { s.Service = d.text() },
	"failed":         func(d *Decoder, s *op.Span) { s.Failed = d.flag() },
	"links":          func(d *Decoder, s *op.Span) { s.Links = d.decodeLinks() },
	"extra":          func(d *Decoder, s *op.Span) { s.Extra = d.decodeExtra() },
	"attrs": func(d *Decoder, s *op.Span) {
		d.attrs = d.Attributes(d.attrs[:0])
		s.Attrs = d.attrs
	},
}

func (d *Decoder) decodeSpan() *op.Span {
	s := record(d, spanMembers, &d.Span)
	if s != nil && s.Start.V > math.MaxInt64-s.Duration {
		s.Start = op.Int{}
	}
	return s
}

// decodeCall reads an entry on the host's side.
func (d *Decoder) decodeCall() *op.Entry {
	if d.Lex.Null() {
		return nil
	}
	before := d.has
	for d.Lex.Object(); d.Lex.More(); {
		if !d.Field(d.Lex.Key()) {
			d.Lex.Skip()
		}
	}
	d.Finish()
	d.Entry.Side = op.SideHost
	d.has = before
	return &d.Entry
}

func (d *Decoder) flag() bool { return !d.Lex.Null() && d.Lex.Bool() }

var resourceMembers = members[op.Resource]{
	"service":    func(d *Decoder, r *op.Resource) { r.Service = d.text() },
	"rank":       func(d *Decoder, r *op.Resource) { r.Rank = d.amount(op.WarnBadValue) },
	"world_size": func(d *Decoder, r *op.Resource) { r.WorldSize = d.amount(op.WarnBadValue) },
	"attrs": func(d *Decoder, r *op.Resource) {
		r.Attrs = d.Attributes(nil)
		if host := opmodel.FindAttr(r.Attrs, attrkey.HostName); host != nil {
			r.Host = host.Value
		}
	},
}

var gapMembers = members[op.Gap]{
	"dropped": func(d *Decoder, g *op.Gap) { g.Dropped = d.count("dropped") },
	"reason":  func(d *Decoder, g *op.Gap) { g.Reason = d.text() },
}

var batchMembers = members[op.Batch]{
	"writer":  func(d *Decoder, b *op.Batch) { b.Writer = d.text() },
	"seq":     func(d *Decoder, b *op.Batch) { b.Sequence = d.count("seq") },
	"entries": func(d *Decoder, b *op.Batch) { b.Entries = d.count("entries") },
}

func (d *Decoder) count(field string) int64 {
	n := d.amount(op.WarnBadValue)
	if !n.Known {
		d.Wrong(field + " is not a count")
	}
	return n.V
}
