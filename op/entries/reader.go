package entries

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/optrace/optrace/internal/model/decode"
	"github.com/optrace/optrace/internal/read/budget"
	"github.com/optrace/optrace/internal/text/lineio"
	"github.com/optrace/optrace/op"
)

// MaxLineBytes is the longest line that a [Reader] takes; a longer one is
// passed over and reported.
const MaxLineBytes = lineio.MaxLine

// Reader reads entries JSON Lines in constant memory. It starts at any line
// boundary: a file may be cut, concatenated or interleaved line by line.
//
// A Reader is not safe for concurrent use.
type Reader struct {
	lines *lineio.Reader
	name  string
	dec   decode.Decoder
	err   error

	// operation and span are the records of the decoder's entry and span, made once.
	operation, span op.Record

	// sources tells the resource of the entries; held is the record that a resource was
	// put in front of.
	sources Sources
	held    op.Record
	holding bool
	host    string // of the resource
}

// NewReader returns a Reader of src. name stands for src in errors.
func NewReader(src io.Reader, name string) *Reader {
	r := &Reader{lines: lineio.NewReader(src, MaxLineBytes), name: name}
	r.operation.Entry, r.span.Span = &r.dec.Entry, &r.dec.Span
	return r
}

// Reset makes r read src from its start, which lies at a position of the file
// called name. The strings of what r has read before are not allocated again.
func (r *Reader) Reset(src io.Reader, name string, at op.Position) {
	r.lines.Reset(src, at.Offset, at.Lines)
	r.dec.Index.Held = budget.Account{Hold: lineio.HoldOf(src)}
	r.name, r.err = name, nil
	r.sources, r.holding, r.host = Sources{}, false, ""
}

// SetSources says which resources hold where the reader starts, and which it has handed
// out. It is called behind Reset, and copies s.
func (r *Reader) SetSources(s *Sources) {
	r.sources = *s.Clone()
	r.host = orEmpty(r.sources.Resource()).Host
}

// Next returns the next record, which is valid until the next call. The Resource in
// front of an Entry or Span is where that comes from: where the batches of several
// writers follow one another, it is handed out again. At the end
// the error is io.EOF. A *[SyntaxError] describes a line that could not be read,
// and the call after it goes on with the next line; any other error is final.
func (r *Reader) Next() (op.Record, error) {
	if rec := r.canonical(); rec != nil {
		return *rec, nil
	}
	return r.nextOther()
}

// canonical reads the next line and returns its record, nil for a line that is not written
// as optrace writes operations and spans.
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
	r.dec.Entry.Host = r.host
	return rec
}

// nextOther is Next for what canonical does not read: lines that are written in another
// way, a record that is held, and the end.
func (r *Reader) nextOther() (op.Record, error) {
	if r.err != nil {
		return op.Record{}, r.err
	}
	if r.holding {
		r.holding = false
		return r.held, nil
	}
	for {
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

// follow notes what a record says about resources, and returns the one to hand out.
func (r *Reader) follow(rec op.Record) op.Record {
	switch {
	case rec.Entry == nil && rec.Span == nil:
		r.sources.follow(&rec, r.dec.Header)
		r.host = orEmpty(r.sources.Resource()).Host
	case r.sources.unsettled:
		return r.settle(rec)
	default:
		r.dec.Entry.Host = r.host
	}
	return rec
}

// settle returns rec, or in front of it the resource that it comes from.
func (r *Reader) settle(rec op.Record) op.Record {
	now, changed := r.sources.Settle()
	r.host = orEmpty(now).Host
	r.dec.Entry.Host = r.host
	if !changed {
		return rec
	}
	r.held, r.holding = rec, true
	return op.Record{Resource: orEmpty(now).Clone()}
}

// cutMark removes the byte order mark that a file may start with.
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

// recordError returns what is wrong with a line. A schema that is not
// understood is final.
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

// Records yields every record with a nil error, and for every line that could
// not be read a *[SyntaxError]. Any other error, such as a failure of the
// underlying reader, is yielded last.
func (r *Reader) Records() iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		for {
			if rec := r.canonical(); rec != nil { // Next would copy it once more
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
