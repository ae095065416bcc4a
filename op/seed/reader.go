package seed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/jsonstream"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/internal/decode"
)

// Read reads a seed trace: one JSON document with entries,
// total_duration_us and metadata, as the recorder this project started from
// writes it. The numbers of elements and bytes stay as they are in the file;
// durations are rounded to the nanosecond. name stands for src in errors.
//
// An entry has no start time, and its step is its place in the sequence. An output
// shape without dimensions and without elements is one that was not given.
//
// Errors are those of [Records], joined; the trace holds what could be read.
func Read(src io.Reader, name string) (*Trace, error) {
	text, err := io.ReadAll(src)
	if err != nil {
		return nil, fmt.Errorf("reading trace: %w", err)
	}
	return Parse(text, name)
}

// Parse is Read for a document held in memory.
func Parse(text []byte, name string) (*Trace, error) {
	t := &Trace{}
	var errs []error
	for rec, err := range Records(text, name) {
		switch {
		case err != nil:
			errs = append(errs, err)
		case rec.Entry != nil:
			t.AddEntry(rec.Entry)
		case rec.Total != nil:
			t.TotalDuration = rec.Total.Stated
		case rec.Resource != nil:
			for _, a := range rec.Resource.Attrs {
				t.WithMetadata(a.Key, a.Value)
			}
		}
	}
	return t, errors.Join(errs...)
}

// Records yields the records of a seed trace held in memory: its metadata as
// the attributes of a resource, sorted by key, the entries, and the total if the
// trace states one. Every error is a *[op.SyntaxError]: an entry that could not be read
// is left out, and the error names its index. One of class [op.ErrorSyntax] says that the
// document itself is damaged, and is the last thing yielded.
func Records(text []byte, name string) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		r := &reader{stream: jsonstream.NewReader(bytes.NewReader(text), name), yield: yield, metadataFirst: true}
		if r.resource(metadataOf(text)) {
			r.read()
		}
	}
}

// Stream is [Records] for a trace that is not held in memory: it is read as it
// comes, one entry at a time. So metadata that stand behind the entries come behind them.
// An error that is no *[op.SyntaxError] is that of src, and the last thing yielded.
func Stream(src io.Reader, name string) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		r := &reader{stream: jsonstream.NewReader(src, name), yield: yield}
		r.read()
	}
}

type reader struct {
	stream        *jsonstream.Reader
	dec           decode.Decoder
	yield         func(op.Record, error) bool
	metadataFirst bool // they have been yielded
	total         op.Int
	sum           int64
}

// metadataOf returns the metadata of a document, which stand behind the entries.
func metadataOf(text []byte) (attrs []op.Attr) {
	var d decode.Decoder
	s := jsonstream.NewReader(bytes.NewReader(text), "")
	for s.Object(); s.More(); {
		if string(s.Key()) != "metadata" {
			s.Skip()
		} else if value, err := s.Value(); err == nil {
			d.Lex.Reset(value)
			attrs = metadata(&d)
		}
	}
	return attrs
}

// read yields the records of a document as they come.
func (r *reader) read() {
	s := r.stream
	for s.Object(); s.More(); {
		more := true
		switch string(s.Key()) {
		case "entries":
			more = r.entries()
		case "total_duration_us":
			more = r.value(func(d *decode.Decoder) { r.total = totalDuration(d) })
		case "metadata":
			var attrs []op.Attr
			more = r.value(func(d *decode.Decoder) { attrs = metadata(d) }) && (r.metadataFirst || r.resource(attrs))
		default:
			s.Skip()
		}
		if !more {
			return
		}
	}
	s.End()
	switch err := s.Err(); {
	case err != nil:
		r.yield(op.Record{}, err)
	case r.total.Known:
		r.yield(op.Record{Total: &op.Total{Stated: r.total.V, Sum: r.sum}}, nil)
	}
}

// resource yields the metadata, where there are any.
func (r *reader) resource(attrs []op.Attr) bool {
	return len(attrs) == 0 || r.yield(op.Record{Resource: &op.Resource{Attrs: attrs}}, nil)
}

// value has the value of a member read, and reports whether to go on.
func (r *reader) value(read func(*decode.Decoder)) bool {
	err := r.decode(-1, read)
	return r.stream.Err() != nil || err == nil || r.yield(op.Record{}, err) // the stream's ends the document
}

// decode has the next value read. The error says what is wrong with it, and with which entry unless index is negative.
func (r *reader) decode(index int, read func(*decode.Decoder)) error {
	s, d := r.stream, &r.dec
	attempt := func(text []byte) {
		d.Lex.Reset(text)
		d.Reset()
		read(d)
	}
	// Nearly always all of the value is there, and well formed: then nobody else has to look for its end.
	if attempt(s.Buffered()); d.Lex.Err() == nil && !d.Lex.AtEnd() {
		s.Pass(d.Lex.Offset())
	} else {
		text, err := s.Value()
		if err != nil {
			return err
		}
		attempt(text)
	}
	at, msg := d.FaultAt, d.Fault
	if err := d.Lex.Err(); err != nil {
		at, msg = d.Lex.Offset(), err.Error()
	}
	if msg == "" {
		return nil
	}
	if index >= 0 {
		msg = fmt.Sprintf("entries[%d]: %s", index, msg)
	}
	damage := s.SyntaxError(at, msg)
	damage.Class, damage.Truncated = op.ErrorRecord, d.Lex.Truncated()
	return damage
}

// entries yields the entries and the errors of those that cannot be read. It reports
// whether more records are wanted.
func (r *reader) entries() bool {
	s := r.stream
	i := 0
	for s.Array(); s.More(); i++ {
		rec := op.Record{Entry: &r.dec.Entry}
		err := r.decode(i, readEntry)
		switch {
		case s.Err() != nil: // which ends the document
			return true
		case err != nil:
			rec = op.Record{}
		case rec.Entry.Side != op.SideHost:
			r.sum = opmodel.AddSaturating(r.sum, rec.Entry.Duration)
		}
		if !r.yield(rec, err) {
			return false
		}
	}
	return true
}

func readEntry(d *decode.Decoder) {
	l := &d.Lex
	if l.Peek() != '{' {
		if l.Skip(); l.Err() == nil {
			d.Wrong("not an object")
		}
		return
	}
	var unknown []int64
	for l.Object(); l.More(); {
		name := l.Key()
		switch {
		case d.Field(name):
		case string(name) == "unknown_inputs":
			unknown = indexes(d)
		default:
			l.Skip()
		}
	}
	if l.Err() != nil {
		return
	}
	d.Finish()
	e := &d.Entry
	for _, i := range unknown {
		if uint64(i) < uint64(len(e.InputShapes)) {
			e.InputShapes[i] = nil
		}
	}
	if len(e.OutputShape) == 0 && e.OutputElements == op.Known(0) {
		e.OutputShape = nil // a scalar has an element
	}
	if !e.Start.Known {
		e.Warn |= op.WarnNoStart
	}
}

// indexes reads a list of integers and leaves out what is none.
func indexes(d *decode.Decoder) (list []int64) {
	if !d.Is('[') {
		return nil
	}
	for d.Lex.Array(); d.Lex.More(); {
		if i := d.Integer(0); i.Known {
			list = append(list, i.V)
		}
	}
	return list
}

func metadata(d *decode.Decoder) []op.Attr {
	attrs := d.Attributes(nil)
	slices.SortFunc(attrs, func(a, b op.Attr) int { return strings.Compare(a.Key, b.Key) })
	return attrs
}

// totalDuration reads the duration of the whole trace; null, which is how the
// seed's recorder prints a NaN, is not stated.
func totalDuration(d *decode.Decoder) op.Int {
	if d.Lex.Null() {
		return op.Int{}
	}
	text, ok := d.Number()
	if !ok {
		d.Lex.Skip()
		d.Wrong("total_duration_us is not a number")
		return op.Int{}
	}
	ns, ok := lexer.ParseMicros(text)
	if !ok {
		d.Wrong("total_duration_us is not a duration that fits 64 bits of nanoseconds")
		return op.Int{}
	}
	return op.Known(ns)
}
