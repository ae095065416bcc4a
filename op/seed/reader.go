package seed

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/optrace/optrace/internal/jsontext"
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
// document itself is damaged: what follows are the entries behind the damage that are
// certain to be entries.
func Records(text []byte, name string) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		r := &reader{text: text, name: name, yield: yield, line: 1}
		r.read()
	}
}

// traceReader reads a seed trace.
type reader struct {
	text  []byte
	name  string
	yield func(op.Record, error) bool
	dec   decode.Decoder

	// line is the line of offset counted.
	line    int64
	counted int

	// entries is the offset of the entries, 0 for none.
	entries int
	// stopped is set once no more records are wanted, damaged once damage of the document
	// was reported.
	stopped, damaged bool

	total    op.Int
	metadata []op.Attr
	sum      int64
}

// read yields the records. It goes over the members first, for the metadata stand
// behind the entries.
func (r *reader) read() {
	faults, damage := r.members()
	if len(r.metadata) > 0 && !r.yield(op.Record{Resource: &op.Resource{Attrs: r.metadata}}, nil) {
		return
	}
	for _, fault := range faults {
		if !r.yield(op.Record{}, fault) {
			return
		}
	}
	if r.entries > 0 && !r.readEntries() {
		return
	}
	switch {
	case r.damaged:
	case damage != nil:
		r.yield(op.Record{}, damage)
	case r.total.Known:
		r.yield(op.Record{Total: &op.Total{Stated: r.total.V, Sum: r.sum}}, nil)
	}
}

// members reads the members of the document but the entries. Of equal names the
// last wins.
func (r *reader) members() (faults []*op.SyntaxError, damage *op.SyntaxError) {
	d := &r.dec
	l := &d.Lex
	l.Reset(r.text)
	for l.Object(); l.More(); {
		d.Reset()
		switch string(l.Key()) {
		case "entries":
			if l.Peek() != '[' {
				l.Array() // an error
				continue
			}
			r.entries = l.Offset()
			l.Pass()
		case "total_duration_us":
			r.total = totalDuration(d)
		case "metadata":
			r.metadata = d.Attributes(nil)
		default:
			l.Skip()
		}
		if d.Fault != "" && l.Err() == nil {
			faults = append(faults, r.fault(d.FaultAt, d.Fault))
		}
	}
	l.End()
	slices.SortFunc(r.metadata, func(a, b op.Attr) int { return bytes.Compare([]byte(a.Key), []byte(b.Key)) })
	if l.Err() != nil {
		return faults, r.damage(0, l)
	}
	return faults, nil
}

// readEntries yields the entries and the errors of those that could not be read. It
// reports whether more records are wanted.
func (r *reader) readEntries() bool {
	at := r.entries + 1
	l := &r.dec.Lex
	for i := 0; ; i++ {
		l.Reset(r.text[at:])
		if l.Peek() == ']' {
			return true
		}
		if i > 0 {
			if l.Expect(',', "expected ',' or ']'"); l.Err() != nil {
				if at = r.resync(at, r.damage(at, l)); at < 0 {
					return !r.stopped
				}
				l.Reset(r.text[at:])
			}
		}
		if at = r.readEntry(at, i); at < 0 {
			return !r.stopped
		}
	}
}

// readEntry yields the i-th entry or its error. The lexer, which reads from an offset
// of the text, stands in front of it. It returns where to go on, -1 for nowhere.
func (r *reader) readEntry(at, i int) int {
	d := &r.dec
	l := &d.Lex
	l.Peek() // behind white space
	start := at + l.Offset()
	readEntry(d)
	switch {
	case l.Err() != nil:
		err := r.damage(at, l)
		l.Reset(r.text[start:])
		l.Pass()
		end := start + l.Offset()
		if next := entryStart(r.text, start+1); l.Err() != nil || next >= 0 && next < end {
			if !err.Truncated {
				err.Msg = fmt.Sprintf("entries[%d]: %s", i, err.Msg)
			}
			return r.resync(start+1, err) // the entry has no end
		}
		err.Msg, err.Class = fmt.Sprintf("entries[%d]: %s", i, err.Msg), op.ErrorRecord
		r.emit(op.Record{}, err)
		at = end
	case d.Fault != "":
		r.emit(op.Record{}, r.fault(at+d.FaultAt, fmt.Sprintf("entries[%d]: %s", i, d.Fault)))
		at += l.Offset()
	default:
		if d.Entry.Side != op.SideHost {
			r.sum = addSaturating(r.sum, d.Entry.Duration)
		}
		r.emit(op.Record{Entry: &d.Entry}, nil)
		at += l.Offset()
	}
	if r.stopped {
		return -1
	}
	return at
}

// emit hands a record or an error out.
func (r *reader) emit(rec op.Record, err *op.SyntaxError) {
	if err != nil {
		r.stopped = r.stopped || !r.yield(rec, err)
	} else {
		r.stopped = r.stopped || !r.yield(rec, nil)
	}
}

// resync reports damage of the document and returns where the next entry behind an offset
// starts, -1 for none that is certain to be one.
func (r *reader) resync(from int, damage *op.SyntaxError) int {
	r.damaged = true
	r.emit(op.Record{}, damage)
	if r.stopped {
		return -1
	}
	return entryStart(r.text, from)
}

// entryStart returns where the next object behind an offset starts whose first member is
// the step, -1 for none. In a string that could not stand, for its quotes would be escaped.
func entryStart(text []byte, from int) int {
	const key, space = `"step"`, " \t\r\n"
	for at := min(from, len(text)); ; {
		n := bytes.Index(text[at:], []byte(key))
		if n < 0 {
			return -1
		}
		object, ok := bytes.CutSuffix(bytes.TrimRight(text[:at+n], space), []byte{'{'})
		if at += n + len(key); ok && len(object) >= from && bytes.HasPrefix(bytes.TrimLeft(text[at:], space), []byte{':'}) {
			return len(object)
		}
	}
}

// fault returns an error about a value at an offset.
func (r *reader) fault(offset int, msg string) *op.SyntaxError {
	return &op.SyntaxError{File: r.name, Line: r.lineAt(offset), Offset: int64(offset), Msg: msg, Class: op.ErrorRecord}
}

// damage returns the error of the lexer, which read from an offset on.
func (r *reader) damage(from int, l *jsontext.Lexer) *op.SyntaxError {
	offset := from + l.Offset()
	return &op.SyntaxError{
		File: r.name, Line: r.lineAt(offset), Offset: int64(offset), Msg: l.Err().Error(), Truncated: l.Truncated(),
	}
}

// lineAt returns the line of an offset, counted from 1.
func (r *reader) lineAt(offset int) int64 {
	if offset < r.counted {
		r.line, r.counted = 1, 0
	}
	r.line += int64(bytes.Count(r.text[r.counted:offset], []byte{'\n'}))
	r.counted = offset
	return r.line
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
