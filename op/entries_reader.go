package op

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/optrace/optrace/internal/lineio"
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
	dec   decoder
	err   error
}

// NewReader returns a Reader of src. name stands for src in errors.
func NewReader(src io.Reader, name string) *Reader {
	return &Reader{lines: lineio.NewReader(src, MaxLineBytes), name: name}
}

// Reset makes r read src from its start, which lies at a position of the file
// called name. The strings of what r has read before are not allocated again.
func (r *Reader) Reset(src io.Reader, name string, at Position) {
	r.lines.Reset(src, at.Offset, at.Lines)
	r.name, r.err = name, nil
}

// Next returns the next record, which is valid until the next call. At the end
// the error is io.EOF. A *[SyntaxError] describes a line that could not be read,
// and the call after it goes on with the next line; any other error is final.
func (r *Reader) Next() (Record, error) {
	if r.err != nil {
		return Record{}, r.err
	}
	if rec, size := r.dec.canonicalRecord(r.lines.Buffered()); size > 0 {
		r.lines.Skip(size)
		return rec, nil
	}
	for {
		line, err := r.lines.Next()
		if err != nil {
			return Record{}, r.final(err)
		}
		if line.TooLong {
			err := r.syntaxError(line, 0, fmt.Errorf("line longer than %d bytes", MaxLineBytes), false)
			err.Class = ErrorLimit
			return Record{}, err
		}
		if line.Number == 1 {
			if line, err = r.cutMark(line); err != nil {
				return Record{}, r.final(err)
			}
		}
		if isBlank(line.Text) {
			continue
		}
		rec, offset, err := r.dec.decodeRecord(line.Text)
		if err != nil {
			return Record{}, r.recordError(line, offset, err)
		}
		return rec, nil
	}
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

func isBlank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// recordError returns what is wrong with a line. A schema that is not
// understood is final.
func (r *Reader) recordError(line lineio.Line, offset int, err error) error {
	if _, ok := errors.AsType[*schemaError](err); ok {
		return r.final(fmt.Errorf("%s:%d: %w", r.name, line.Number, err))
	}
	cut := r.dec.lex.Truncated() && !line.Complete
	e := r.syntaxError(line, offset, err, cut)
	e.Class = r.dec.errorClass()
	return e
}

// final keeps err for every further call.
func (r *Reader) final(err error) error {
	r.err = err
	return err
}

func (r *Reader) syntaxError(line lineio.Line, offset int, err error, truncated bool) *SyntaxError {
	return &SyntaxError{
		File: r.name, Line: line.Number, Offset: line.Offset + int64(offset),
		Msg: err.Error(), Truncated: truncated,
	}
}

// Records yields every record with a nil error, and for every line that could
// not be read a *[SyntaxError]. Any other error, such as a failure of the
// underlying reader, is yielded last.
func (r *Reader) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			rec, err := r.Next()
			if err == io.EOF || !yield(rec, err) || r.err != nil {
				return
			}
		}
	}
}

// DecodeLine reads one line of the entries format, for callers that cut lines
// themselves. The record shares nothing with others and may be kept. An error
// is of type *[SyntaxError].
func DecodeLine(line []byte) (Record, error) {
	var d decoder
	rec, offset, err := d.decodeRecord(line)
	if err != nil {
		return Record{}, &SyntaxError{
			File: "line", Offset: int64(offset), Msg: err.Error(), Truncated: d.lex.Truncated(), Class: d.errorClass(),
		}
	}
	return rec, nil
}
