package seed

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/internal/opmodel"
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
// trace states one. Every error is a *[SyntaxError]: an entry that could not be read
// is left out, and the error names its index. One of class [op.ErrorSyntax] says that the
// document itself is damaged, and is the last thing yielded.
func Records(text []byte, name string) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		r := &reader{window: window{name: name, buf: text, err: io.EOF}, yield: yield, metadataFirst: true}
		if r.resource(metadataOf(text)) {
			r.read()
		}
	}
}

// Stream is [Records] for a trace that is not held in memory: it is read as it
// comes, one entry at a time. So metadata that stand behind the entries come behind them.
// An error that is no *[SyntaxError] is that of src, and the last thing yielded.
func Stream(src io.Reader, name string) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		r := &reader{window: window{name: name, src: src}, yield: yield}
		r.read()
	}
}

// reader reads a seed trace.
type reader struct {
	window
	yield         func(op.Record, error) bool
	metadataFirst bool // they have been yielded
	total         op.Int
	sum           int64
}

// metadataOf returns the metadata of a document, which stand behind the entries.
func metadataOf(text []byte) (attrs []op.Attr) {
	var d decode.Decoder
	l := &d.Lex
	l.Reset(text)
	for l.Object(); l.More(); {
		if string(l.Key()) == "metadata" {
			attrs = metadata(&d)
		} else {
			l.Peek()
			l.Pass()
		}
	}
	return attrs
}

// read yields the records of a document as they come.
func (r *reader) read() {
	l := &r.dec.Lex
	if !r.expect(func() { l.Expect('{', "expected an object") }) {
		return
	}
	for first := true; ; first = false {
		more, err := r.more('}', first, "expected ',' or '}'")
		if err != nil {
			r.yield(op.Record{}, err)
			return
		}
		if !more {
			break
		}
		if !r.member() {
			return
		}
	}
	if r.expect(l.End) {
		r.end()
	}
}

// expect is step where an error, which it yields, ends the reading.
func (r *reader) expect(f func()) bool {
	err := r.step(f)
	if err != nil {
		r.yield(op.Record{}, err)
	}
	return err == nil
}

// member reads a member, and reports whether to go on.
func (r *reader) member() bool {
	d := &r.dec
	l := &d.Lex
	var key string
	if !r.expect(func() { key = string(l.Key()) }) {
		return false
	}
	if key == "entries" {
		return r.expect(func() { l.Expect('[', "expected an array") }) && r.entries()
	}
	start := 0
	if !r.expect(func() { l.Peek(); start = l.Offset(); l.Pass() }) {
		return false
	}
	text := r.buf[r.at-l.Offset()+start : r.at]
	l.Reset(text)
	d.Reset()
	switch key {
	case "total_duration_us":
		r.total = totalDuration(d)
	case "metadata":
		if attrs := metadata(d); !r.metadataFirst && !r.resource(attrs) {
			return false
		}
	}
	if d.Fault != "" && l.Err() == nil {
		return r.yield(op.Record{}, r.fault(r.at-len(text)+d.FaultAt, d.Fault, op.ErrorRecord))
	}
	return true
}

// resource yields the metadata, where there are any.
func (r *reader) resource(attrs []op.Attr) bool {
	return len(attrs) == 0 || r.yield(op.Record{Resource: &op.Resource{Attrs: attrs}}, nil)
}

// end yields the total, where the document states it.
func (r *reader) end() {
	if r.total.Known {
		r.yield(op.Record{Total: &op.Total{Stated: r.total.V, Sum: r.sum}}, nil)
	}
}

// entries yields the entries and the errors of those that cannot be read. It reports
// whether the list came to its end and more records are wanted.
func (r *reader) entries() bool {
	for i := 0; ; i++ {
		more, err := r.more(']', i == 0, "expected ',' or ']'")
		switch {
		case err != nil:
			r.yield(op.Record{}, err)
			return false
		case !more:
			return true
		case !r.entry(i):
			return false
		}
	}
}

// entry yields the i-th entry or its error, and reports whether to go on. An entry that
// breaks the grammar is passed over by its brackets.
func (r *reader) entry(i int) bool {
	d := &r.dec
	l := &d.Lex
	err := r.step(func() { readEntry(d) })
	switch {
	case err != nil:
	case d.Fault != "":
		return r.yield(op.Record{}, r.fault(r.at-l.Offset()+d.FaultAt, fmt.Sprintf("entries[%d]: %s", i, d.Fault), op.ErrorRecord))
	default:
		if d.Entry.Side != op.SideHost {
			r.sum = opmodel.AddSaturating(r.sum, d.Entry.Duration)
		}
		return r.yield(op.Record{Entry: &d.Entry}, nil)
	}
	damage, ok := errors.AsType[*op.SyntaxError](err)
	if ok && !damage.Truncated {
		damage.Msg = fmt.Sprintf("entries[%d]: %s", i, damage.Msg)
	}
	noEnd := r.step(l.Pass)
	if _, isSyntax := errors.AsType[*op.SyntaxError](noEnd); noEnd != nil && !isSyntax {
		err = noEnd // of src
	}
	if !ok || noEnd != nil {
		r.yield(op.Record{}, err)
		return false
	}
	damage.Class = op.ErrorRecord
	return r.yield(op.Record{}, damage)
}

// readEntry reads one entry of a seed trace.
func readEntry(d *decode.Decoder) {
	l := &d.Lex
	d.Reset()
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

// metadata reads the metadata, sorted by key.
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
	ns, ok := jsontext.ParseMicros(text)
	if !ok {
		d.Wrong("total_duration_us is not a duration that fits 64 bits of nanoseconds")
		return op.Int{}
	}
	return op.Known(ns)
}
