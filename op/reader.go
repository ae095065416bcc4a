package op

import (
	"bytes"
	"errors"
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
	first bool
	err   error
}

// NewReader returns a Reader of src. name stands for src in errors.
func NewReader(src io.Reader, name string) *Reader {
	return &Reader{lines: lineio.NewReader(src, MaxLineBytes), name: name, first: true}
}

// Next returns the next record, which is valid until the next call. At the end
// the error is io.EOF. A *[SyntaxError] tells of a line that could not be read,
// and the call after it goes on with the next line; any other error is final.
func (r *Reader) Next() (Record, error) {
	if r.err != nil {
		return Record{}, r.err
	}
	for {
		line, err := r.lines.Next()
		if err != nil {
			r.err = err
			return Record{}, err
		}
		text := line.Text
		if r.first {
			text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
			r.first = false
		}
		if line.TooLong {
			return Record{}, r.syntaxError(line, 0, "line longer than 16 MiB", false)
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		rec, offset, err := r.dec.decodeRecord(text)
		var schema *schemaError
		switch {
		case errors.As(err, &schema):
			r.err = r.syntaxError(line, 0, err.Error(), false)
			return Record{}, &fatalError{r.err}
		case err != nil:
			cut := r.dec.lex.Truncated() && !line.Complete
			return Record{}, r.syntaxError(line, offset, err.Error(), cut)
		}
		return rec, nil
	}
}

// fatalError hides a SyntaxError's type: reading cannot go on.
type fatalError struct{ err error }

func (e *fatalError) Error() string { return e.err.Error() }

func (r *Reader) syntaxError(line lineio.Line, offset int, msg string, truncated bool) *SyntaxError {
	return &SyntaxError{
		File: r.name, Line: line.Number, Offset: line.Offset + int64(offset),
		Msg: msg, Truncated: truncated,
	}
}

// Records yields every record with a nil error, and for every line that could
// not be read a *[SyntaxError]. A failure of the underlying reader is yielded
// last.
func (r *Reader) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			rec, err := r.Next()
			if err == io.EOF {
				return
			}
			if !yield(rec, err) {
				return
			}
			var syntax *SyntaxError
			if err != nil && !errors.As(err, &syntax) {
				return
			}
		}
	}
}

// DecodeLine reads one line of the entries format, for callers that cut lines
// themselves. The record shares nothing with others and may be kept.
func DecodeLine(line []byte) (Record, error) {
	var d decoder
	rec, offset, err := d.decodeRecord(line)
	if err != nil {
		return Record{}, &SyntaxError{File: "line", Offset: int64(offset), Msg: err.Error(), Truncated: d.lex.Truncated()}
	}
	return rec, nil
}
