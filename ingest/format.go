package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/op/entries"
)

// Format is a file format that is recognised by its content.
type Format struct {
	// Name is the format's name in reports, such as "otlp-json".
	Name string
	// Short is the name that "optrace convert" writes it by; "" for none.
	Short string
	// Summary says what files of the format are, in a few words.
	Summary string

	// detect reports whether a file that starts with h is of this format.
	detect func(h *head) bool
	// open returns a reader of files of this format, and of parts of them, one after the other. It may keep interned
	// strings from part to part.
	open func(o readerOptions) readFunc
	// cut, if not nil, cuts files into parts. The whole file is one record where it returns 0 for all that fits into
	// memory.
	cut cutFunc
	// recordsAt, if not nil, is open for a format that is read here and there, from a file where that is possible.
	recordsAt func(o readerOptions, src io.ReaderAt, size int64, name string) iter.Seq2[op.Record, error]
	// partsAt, if not nil, returns the records of a file in parts that several goroutines may read. An error says that
	// the file is to be read otherwise.
	partsAt func(src io.ReaderAt, size int64, name string, partBytes int) ([]iter.Seq2[op.Record, error], error)
	// framing is that of OTLP in frames.
	framing otlp.Framing
	// grows is set where records can be read as they are appended, see [Follower].
	grows bool
	// registers is set where [Register] says how files are read.
	registers bool
	// partial is set where files hold partial results, see [Input.Partials].
	partial bool
	// inherits is set where the reader does not add the attributes of resources that are asked for to the entries.
	inherits bool
}

// readerOptions is what a reader is made with.
type readerOptions struct {
	mapping *attr.Mapping
	// hold bounds what the reader holds, see [Input.Hold]; memory is what it allows in all.
	hold   func(bytes int64) error
	memory int64
}

// readFunc reads the records that start at a place. A *op.SyntaxError is not the end, any other error is.
type readFunc func(src io.Reader, at place) iter.Seq2[op.Record, error]

// place is where a part of a file lies.
type place struct {
	name string
	op.Position
	// lines is set where the records of the part are lines.
	lines bool
	// sources are the resources that hold at the start of a part of an entries file; nil where nothing of theirs is
	// asked for.
	sources *entries.Sources
}

// whole returns open for a format whose files are read as a whole.
func whole(records func(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error]) func(readerOptions) readFunc {
	return holding(func(src io.Reader, name string, m *attr.Mapping, _ func(int64) error) iter.Seq2[op.Record, error] {
		return records(src, name, m)
	})
}

// holding is whole for a format of which much has to be held.
func holding(
	records func(src io.Reader, name string, m *attr.Mapping, hold func(bytes int64) error) iter.Seq2[op.Record, error],
) func(readerOptions) readFunc {
	return func(o readerOptions) readFunc {
		return func(src io.Reader, at place) iter.Seq2[op.Record, error] {
			return records(src, at.name, o.mapping, o.hold)
		}
	}
}

// unregistered returns open for a format that is read once a package is imported.
func unregistered(pkg string) func(readerOptions) readFunc {
	return func(readerOptions) readFunc {
		return func(io.Reader, place) iter.Seq2[op.Record, error] {
			return func(yield func(op.Record, error) bool) {
				yield(op.Record{}, fmt.Errorf("this program does not read the format: it would import _ %q", pkg))
			}
		}
	}
}

// Formats returns the formats in the order in which they are tried.
func Formats() []Format { return slices.Clone(formats) }

// FormatNames returns the names that [Options].Format may have, in the order of [Formats]: for each format the short
// name, if it has one, and the name in reports.
func FormatNames() []string {
	var names []string
	for _, f := range formats {
		for _, name := range []string{f.Short, f.Name} {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// UnknownFormatError is a file of none of the known formats.
type UnknownFormatError struct {
	// Found describes the beginning of the file.
	Found string
}

// Error describes the beginning of the file and names every format that was tried.
func (e *UnknownFormatError) Error() string {
	var names []string
	for _, f := range formats {
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	return "unknown format: " + e.Found + "; tried " + strings.Join(names, ", ")
}

// How much of a file is looked at: the first amount suffices for nearly all, the last for a JSON document with long
// values in front of the telling key.
const (
	firstLook = 64 << 10
	lastLook  = 1 << 20
)

// minBinary is how much of a binary file that grows there must be to tell its format.
const minBinary = 64

// detect finds the format of src, by the text at its start unless its name is given, and returns that text. An empty
// file has no format: nil. Of a file that is followed the first line suffices, or as much of a binary file as tells its
// format.
func detect(src io.Reader, name string, t *tail) (*Format, []byte, error) {
	text := make([]byte, 0, firstLook)
	for {
		n, err := src.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		atEnd := errors.Is(err, io.EOF)
		if err != nil && !atEnd {
			return nil, nil, err
		}
		ended := atEnd && !t.grows()
		isFull := len(text) == cap(text)
		if t == nil && !ended && !isFull {
			continue
		}
		h := newHead(text, ended)
		isEmpty := h.empty()
		isLine := bytes.IndexByte(text, '\n') >= 0
		isBinary := h.opening == 0
		if isEmpty && ended {
			return nil, nil, nil
		}
		if !isEmpty && (ended || isFull || isLine || atEnd && isBinary && len(text) >= minBinary) {
			if err := h.laterSchema(); err != nil {
				return nil, nil, err
			}
			if f := h.format(name); f != nil {
				return f, text, nil
			}
		}
		if ended || len(text) == lastLook || atEnd && isLine && !isEmpty && (len(h.members) > 0 || isBinary) {
			if f := h.damagedFormat(name); f != nil {
				return f, text, nil
			}
			return nil, nil, h.refusal()
		}
		if isFull {
			text = append(make([]byte, 0, min(4*cap(text), lastLook)), text...)
		}
		if atEnd && !t.wait() {
			return nil, nil, context.Cause(t.ctx)
		}
	}
}

// format returns the format of the file, nil if it is not known. Where a name is given, that is one of its variants.
func (h *head) format(name string) *Format {
	if name == "" {
		return match(h)
	}
	for i := range formats {
		if formats[i].isNamed(name) && formats[i].detect(h) {
			return &formats[i]
		}
	}
	return nil
}

// damagedFormat is format for a file of which all that is to be seen does not tell.
func (h *head) damagedFormat(name string) *Format {
	f := h.matchDamaged()
	if name == "" || f != nil && f.isNamed(name) {
		return f
	}
	for i := range formats {
		if formats[i].isNamed(name) {
			return &formats[i]
		}
	}
	return nil
}

// isNamed reports whether a name is that of the format.
func (f *Format) isNamed(name string) bool { return name == f.Name || name == f.Short }

func match(h *head) *Format {
	if h.isErrorAnswer() {
		return nil
	}
	for i := range formats {
		if formats[i].detect(h) {
			return &formats[i]
		}
	}
	return nil
}
