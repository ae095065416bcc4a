package op

import (
	"errors"
	"fmt"
	"math"

	"github.com/optrace/optrace/internal/intern"
	"github.com/optrace/optrace/internal/jsontext"
)

// decoder reads records of the entries format, and the entries of a seed trace,
// which have the same keys. A record is overwritten by the next one.
type decoder struct {
	lex     jsontext.Lexer
	strings intern.Table
	short   intern.Short // what canonicalText finds in strings
	kinds   kindCache

	entry    Entry
	coll     Collective
	span     Span
	resource Resource
	gap      Gap
	batch    Batch

	// What canonicalRecord read is a span, else the entry.
	isSpan bool
	tail   []byte // see canonicalRecord

	inputs []Shape
	dims   []int64 // backs all shapes of an entry
	dtypes []DType
	attrs  []Attr
	links  []Link

	// What entries seldom have.
	extra      Extra
	eventList  []Event
	moreAttrs  []Attr // of events, links and scopes
	linkExtras []LinkExtra

	omitted Fields // see Reader.Omit
	has     fieldsSeen
	header  bool // the record says where those behind it come from

	// The texts of the record before, which mostly come again.
	lastRoot, lastService, lastScope string

	// fault describes the first error in a record that is valid JSON, and faultAt
	// is its offset.
	fault   string
	faultAt int
}

// fieldsSeen is the set of keys that an entry had, of those whose absence matters.
type fieldsSeen uint8

const (
	hasAny fieldsSeen = 1 << iota
	hasDuration
	hasDurationNS
	hasElements
	hasMemory
	hasRule
	// hasCutOutput: the output's shape lost dimensions to MaxRank.
	hasCutOutput
)

// set makes f one of the fields seen, or not: of equal keys the last wins.
func (s *fieldsSeen) set(f fieldsSeen, seen bool) {
	if *s &^= f; seen {
		*s |= f
	}
}

// decodeRecord reads one line. An error is one of the grammar or of the
// format, with its offset in the line.
func (d *decoder) decodeRecord(line []byte) (rec Record, offset int, err error) {
	d.lex.Reset(line)
	d.resetEntry()
	l := &d.lex
	unknown, control := false, false
	d.header = false
	var foreign *schemaError
	for l.Object(); l.More(); {
		name := l.Key()
		if d.entryField(name) {
			d.has |= hasAny
			continue
		}
		switch string(name) {
		case "schema":
			control, d.header = true, true
			if s := string(l.Str()); l.Err() == nil && s != Schema {
				foreign = &schemaError{s}
			}
		case "resource":
			control, d.header, rec = true, true, Record{Resource: d.decodeResource()}
		case "batch":
			control, rec = true, Record{Batch: d.decodeBatch()}
		case "gap":
			control, rec = true, Record{Gap: d.decodeGap()}
		case "span":
			control, rec = true, Record{Span: d.decodeSpan()}
		default:
			unknown = true
			l.Skip()
		}
	}
	l.End()
	switch {
	case l.Err() != nil:
		return Record{}, l.Offset(), l.Err()
	case foreign != nil: // only now: a damaged line must not end the reading
		return Record{}, 0, foreign
	case control && d.has&hasAny != 0:
		return Record{}, 0, errors.New("an entry and another record in one")
	case d.has&hasAny != 0:
		d.finishEntry()
		rec.Entry = &d.entry
	case unknown && !control:
		rec.Skipped = Skipped{Reason: SkipUnknownRecord, N: 1}
	}
	if d.fault != "" {
		return Record{}, d.faultAt, errors.New(d.fault)
	}
	return rec, 0, nil
}

// errorClass returns the class of the error that decodeRecord returned.
func (d *decoder) errorClass() ErrorClass {
	if d.lex.Err() != nil {
		return ErrorSyntax
	}
	return ErrorRecord
}

// schemaError ends reading: the file has an unsupported version.
type schemaError struct{ schema string }

func (e *schemaError) Error() string {
	return fmt.Sprintf("schema %q is not supported, this version reads %q", e.schema, Schema)
}

func (d *decoder) resetEntry() {
	d.entry = Entry{}
	d.has = 0
	d.inputs, d.dims, d.dtypes = d.inputs[:0], d.dims[:0], d.dtypes[:0]
	d.resetLists()
	d.fault = ""
}

// resetLists empties the lists that entries and spans have.
func (d *decoder) resetLists() {
	d.attrs, d.moreAttrs, d.linkExtras = d.attrs[:0], d.moreAttrs[:0], d.linkExtras[:0]
}

// wrong keeps the first error that makes the record useless.
func (d *decoder) wrong(fault string) {
	if d.fault == "" {
		d.fault, d.faultAt = fault, d.lex.Offset()
	}
}

// finishEntry checks that the entry has the fields that it must have, and derives
// fields from others.
func (d *decoder) finishEntry() {
	e := &d.entry
	switch {
	case e.Operation == "":
		d.wrong("an entry without an operation")
	case d.has&hasDuration == 0:
		d.wrong("an entry without a duration")
	}
	if e.Duration < 0 {
		e.Duration = 0
		e.Warn |= WarnNegativeDuration
	}
	if e.Start.V > math.MaxInt64-e.Duration {
		e.Start = Int{}
		e.Warn |= WarnBadTime
	}
	if e.TraceID.IsZero() && !(e.SpanID.IsZero() && e.ParentSpanID.IsZero()) {
		e.Warn |= WarnBadID
	}
	switch {
	case e.Kind == KindUnknown && e.Collective != nil:
		e.Kind, e.KindRule = KindCollective, RuleAttribute
	case e.Kind == KindUnknown:
		e.Kind, e.KindRule = d.kinds.infer(e.Operation)
	case d.has&hasRule == 0:
		e.KindRule = usualRule(e.Kind)
	}
	if d.has&(hasElements|hasCutOutput) == 0 {
		n, w := e.OutputShape.Elements()
		e.OutputElements = n
		e.Warn |= w
	}
	if d.has&hasMemory == 0 {
		e.setDerivedMemory()
	}
}

// decodeSpan reads the value of an ancestry record; null is none.
func (d *decoder) decodeSpan() *Span {
	l := &d.lex
	if l.Null() {
		return nil
	}
	d.span = Span{}
	s := &d.span
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "name":
			s.Name = d.text()
		case "trace_id":
			s.TraceID = d.traceID()
		case "span_id":
			s.SpanID = d.spanID()
		case "parent_span_id":
			s.ParentSpanID = d.parentID()
		case "parent_remote":
			s.RemoteParent = d.flag()
		case "start_unix_ns":
			s.Start = d.integer(WarnBadTime)
		case "duration_ns":
			s.Duration = d.amount(WarnNegativeDuration).V
		case "service":
			s.Service = d.text()
		case "failed":
			s.Failed = d.flag()
		case "links":
			s.Links = d.decodeLinks()
		case "attrs":
			d.attrs = d.attributes(d.attrs[:0])
			s.Attrs = d.attrs
		case "extra":
			s.Extra = d.decodeExtra()
		default:
			l.Skip()
		}
	}
	if s.Start.V > math.MaxInt64-s.Duration {
		s.Start = Int{}
	}
	return s
}

// flag reads true or false; null is false.
func (d *decoder) flag() bool { return !d.lex.Null() && d.lex.Bool() }

func (d *decoder) decodeResource() *Resource {
	l := &d.lex
	if l.Null() {
		return nil
	}
	d.resource = Resource{}
	r := &d.resource
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "service":
			r.Service = d.text()
		case "rank":
			r.Rank = d.amount(WarnBadValue)
		case "world_size":
			r.WorldSize = d.amount(WarnBadValue)
		case "attrs":
			r.Attrs = d.attributes(nil)
			if host := findAttr(r.Attrs, KeyHostName); host != nil {
				r.Host = host.Value
			}
		default:
			l.Skip()
		}
	}
	return r
}

func (d *decoder) decodeGap() *Gap {
	l := &d.lex
	if l.Null() {
		return nil
	}
	d.gap = Gap{}
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "dropped":
			d.gap.Dropped = d.count("dropped")
		case "reason":
			d.gap.Reason = d.text()
		default:
			l.Skip()
		}
	}
	return &d.gap
}

func (d *decoder) decodeBatch() *Batch {
	l := &d.lex
	if l.Null() {
		return nil
	}
	d.batch = Batch{}
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "writer":
			d.batch.Writer = d.text()
		case "seq":
			d.batch.Sequence = d.count("seq")
		case "entries":
			d.batch.Entries = d.count("entries")
		default:
			l.Skip()
		}
	}
	return &d.batch
}

// count reads a number without which the record is useless.
func (d *decoder) count(field string) int64 {
	n := d.amount(WarnBadValue)
	if !n.Known {
		d.wrong(field + " is not a count")
	}
	return n.V
}
