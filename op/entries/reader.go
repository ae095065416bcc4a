// Package entries reads and writes the entries format, which is JSON Lines. A [Writer] appends records in the form of
// package op, a [Reader] reads them in constant memory.
package entries

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/optrace/optrace/internal/model/decode"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/model/unmarshal"
	"github.com/optrace/optrace/internal/read/budget"
	"github.com/optrace/optrace/internal/text/lineio"
	"github.com/optrace/optrace/op"
)

// MaxLineBytes is the longest line that a [Reader] accepts. It reports a longer one and goes on behind it.
const MaxLineBytes = lineio.MaxLine

// Reader reads entries JSON Lines in constant memory. It may start at any line boundary: a file may be cut, concatenated or
// interleaved line by line.
//
// A Reader is not safe for concurrent use.
type Reader struct {
	lines *lineio.Reader
	name  string
	dec   decode.Decoder
	err   error

	// operation and span point to the decoder's entry and span.
	operation, span op.Record

	// sources finds the resource of the entries. held is a record kept back behind its resource.
	sources Sources
	held    op.Record
	holding bool
	// service and host are the resource's.
	service, host string
}

// NewReader returns a Reader of src. name stands for src in errors.
func NewReader(src io.Reader, name string) *Reader {
	r := &Reader{lines: lineio.NewReader(src, MaxLineBytes), name: name}
	r.operation.Entry = &r.dec.Entry
	r.span.Span = &r.dec.Span
	return r
}

// Reset makes r read src, which starts at position at of the file called name. r keeps its table of strings.
func (r *Reader) Reset(src io.Reader, name string, at op.Position) {
	r.lines.Reset(src, at.Offset, at.Lines)
	r.dec.Index.Held = budget.Account{Hold: lineio.HoldOf(src)}
	r.name = name
	r.err = nil
	r.sources = Sources{}
	r.holding = false
	r.service, r.host = "", ""
}

// SetSources sets the resources in force where the reader starts. Call it after Reset. It copies s.
func (r *Reader) SetSources(s *Sources) {
	r.sources = *s.Clone()
	r.from(r.sources.Resource())
}

// from sets the source of the next records.
func (r *Reader) from(resource *op.Resource) {
	r.service, r.host = orEmpty(resource).Service, orEmpty(resource).Host
}

// inherit gives the record of a line its host, and the service of its header if it states none.
func (r *Reader) inherit() {
	r.dec.Entry.Host = r.host
	r.dec.Entry.Service = cmp.Or(r.dec.Entry.Service, r.service)
	r.dec.Span.Service = cmp.Or(r.dec.Span.Service, r.service)
}

// Next returns the next record, which is valid until the next call. A Resource record precedes the entries and spans
// from it, again after each change of the writer. At the end the error is io.EOF. A *[SyntaxError] describes an
// unreadable line, and the next call goes on behind it; any other error is final.
func (r *Reader) Next() (op.Record, error) {
	if rec := r.canonical(); rec != nil {
		return *rec, nil
	}
	return r.nextOther()
}

// canonical reads the next line and returns its record. It returns nil for a line outside the canonical form.
func (r *Reader) canonical() *op.Record {
	if r.err != nil || r.holding {
		return nil
	}
	text := r.lines.Buffered()
	size := r.dec.Canonical(text)
	if size == 0 {
		return nil
	}
	r.lines.Skip(size)
	rec := &r.operation
	if r.dec.IsSpan {
		rec = &r.span
	}
	if r.sources.unsettled {
		settled := r.settle(*rec)
		return &settled
	}
	r.inherit()
	return rec
}

// nextOther is Next for all other cases: lines outside the canonical form, a held record, and the end.
func (r *Reader) nextOther() (op.Record, error) {
	if r.err != nil {
		return op.Record{}, r.err
	}
	if r.holding {
		r.holding = false
		return r.held, nil
	}
	for {
		if err := r.lines.SkipZeros(r.name); err != nil {
			r.sources.Other()
			return op.Record{}, err
		}
		line, err := r.lines.Next()
		if err != nil {
			return op.Record{}, r.final(err)
		}
		if line.Text == nil { // too long
			err := r.syntaxError(line, 0, fmt.Errorf("line longer than %d bytes", MaxLineBytes), false)
			err.Class = op.ErrorLimit
			r.sources.Other()
			return op.Record{}, err
		}
		if line.Number == 1 {
			if line, err = r.cutMark(line); err != nil {
				return op.Record{}, r.final(err)
			}
		}
		if isBlank(line.Text) {
			r.lines.SkipEmpty()
			continue
		}
		rec, offset, err := r.dec.Record(line.Text)
		if err != nil {
			r.sources.Other()
			return op.Record{}, r.recordError(line, offset, err)
		}
		return r.follow(rec), nil
	}
}

// follow updates the sources, and returns the record to yield.
func (r *Reader) follow(rec op.Record) op.Record {
	switch {
	case rec.Entry == nil && rec.Span == nil:
		r.sources.follow(&rec, r.dec.Header)
		r.from(r.sources.Resource())
	case r.sources.unsettled:
		return r.settle(rec)
	default:
		r.inherit()
	}
	return rec
}

// settle returns rec, or its resource first if that has changed.
func (r *Reader) settle(rec op.Record) op.Record {
	now, changed := r.sources.Settle()
	r.from(now)
	r.inherit()
	if !changed {
		return rec
	}
	r.held = rec
	r.holding = true
	return op.Record{Resource: orEmpty(now).Clone()}
}

// cutMark removes a leading byte order mark.
func (r *Reader) cutMark(line lineio.Line) (lineio.Line, error) {
	for _, mark := range [...]string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(line.Text, []byte(mark)) {
			return line, fmt.Errorf("%s: the text is UTF-16, entries are UTF-8", r.name)
		}
	}
	const mark = "\ufeff"
	if text, ok := bytes.CutPrefix(line.Text, []byte(mark)); ok {
		line.Text = text
		line.Offset += int64(len(mark))
	}
	return line, nil
}

func isBlank(line []byte) bool { return len(bytes.TrimLeft(line, " \t\r")) == 0 }

// recordError describes a bad line. An unsupported schema is final.
func (r *Reader) recordError(line lineio.Line, offset int, err error) error {
	if _, ok := errors.AsType[*decode.SchemaError](err); ok {
		return r.final(fmt.Errorf("%s:%d: %w", r.name, line.Number, err))
	}
	cut := r.dec.Lex.Truncated() && !line.Complete
	e := r.syntaxError(line, offset, err, cut)
	e.Class = r.dec.ErrorClass()
	return e
}

func (r *Reader) final(err error) error {
	r.err = err
	return err
}

func (r *Reader) syntaxError(line lineio.Line, offset int, err error, truncated bool) *op.SyntaxError {
	return &op.SyntaxError{
		File: r.name, Line: line.Number, Offset: line.Offset + int64(offset),
		Msg: err.Error(), Truncated: truncated,
	}
}

// Records yields every record, and a *[SyntaxError] for every unreadable line. Any other error comes last.
func (r *Reader) Records() iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		for {
			if rec := r.canonical(); rec != nil { // Next would copy it again
				if !yield(*rec, nil) {
					return
				}
				continue
			}
			rec, err := r.nextOther()
			if err == io.EOF || !yield(rec, err) || r.err != nil {
				return
			}
		}
	}
}

// DecodeLine reads one line of the entries format. The record may be kept. An error is a *[op.SyntaxError].
func DecodeLine(line []byte) (op.Record, error) {
	var d decode.Decoder
	rec, offset, err := d.Record(line)
	if err != nil {
		return op.Record{}, &op.SyntaxError{
			File: "line", Offset: int64(offset), Msg: err.Error(), Truncated: d.Lex.Truncated(), Class: d.ErrorClass(),
		}
	}
	return rec, nil
}

// DecodeRest reads the text of AppendRest into attrs and links, and returns extra. Other text gives a warning.
func DecodeRest(text string, attrs []op.Attr, links []op.Link) (x *op.Extra, w op.Warning) {
	var d decode.Decoder
	rest, _, err := d.Record([]byte(text[:max(0, len(text)-1)] + `,"operation":"rest","duration_ns":0}`))
	if err != nil || rest.Entry == nil {
		return nil, op.WarnBadValue
	}
	e := rest.Entry
	for i := range attrs {
		if a := opmodel.FindAttr(e.Attrs, attrs[i].Key); a != nil {
			attrs[i].Type = a.Type
		}
	}
	for i := range min(len(links), len(e.Links)) {
		if links[i].TraceID == e.Links[i].TraceID && links[i].SpanID == e.Links[i].SpanID {
			links[i].Extra = e.Links[i].Extra
			links[i].Attention = e.Links[i].Attention
		}
	}
	return e.Extra, e.Warn
}

func init() { unmarshal.Entry = readEntry }

func readEntry(e any, text []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return err
	}
	rec, err := NewReader(&line, "").Next()
	switch {
	case err != nil:
		return fmt.Errorf("reading entry: %w", err)
	case rec.Entry == nil:
		return fmt.Errorf("%.100q is not an entry", text)
	}
	*e.(*op.Entry) = *rec.Entry.Clone()
	return nil
}
