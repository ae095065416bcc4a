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

// Format is a file format that the content of a file tells.
type Format struct {
	// Name is the format's name in reports, such as "otlp-json".
	Name string
	// Short is the format's name in "optrace convert -to"; "" if convert does not write it.
	Short string
	// Summary describes files of the format in a few words.
	Summary string

	detect func(h *head) bool
	// open returns a reader of files or parts of files, one after the other. It may keep interned strings between
	// parts.
	open func(o readerOptions) readFunc
	// cut cuts files into parts; nil if files are read whole.
	cut cutFunc
	// recordsAt is open for a format with random access; nil for a sequential one.
	recordsAt func(o readerOptions, src io.ReaderAt, size int64, name string) iter.Seq2[op.Record, error]
	// partsAt returns the records of a file in parts for several goroutines; nil if the format has no parts. On an
	// error the file is read by another method.
	partsAt   func(src io.ReaderAt, size int64, name string, partBytes int) ([]iter.Seq2[op.Record, error], error)
	framing   otlp.Framing
	grows     bool // set if records can be read while they are appended, see [Follower]
	registers bool // set if a package supplies the reader by [Register]
	partial   bool // set if files hold partial results, see [attr.Want]
	// inherits is set if the reader leaves it to this package to add attributes of resources to entries.
	inherits bool
}

type readerOptions struct {
	mapping *attr.Mapping
	// hold bounds the memory of the reader, see [Input.Hold]; memory is its limit.
	hold   func(bytes int64) error
	memory int64
}

// readFunc reads the records from a place on. Reading goes on after a *op.SyntaxError; any other error ends it.
type readFunc func(src io.Reader, at place) iter.Seq2[op.Record, error]

type place struct {
	name string
	op.Position
	lines bool // set if the records of the part are lines
	// sources are the resources in effect at the start of a part of entries; nil if no attribute of resources is kept.
	sources *entries.Sources
}

func whole(
	records func(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error],
) func(readerOptions) readFunc {
	return func(o readerOptions) readFunc {
		return func(src io.Reader, at place) iter.Seq2[op.Record, error] { return records(src, at.name, o.mapping) }
	}
}

func unregistered(pkg string) func(readerOptions) readFunc {
	return func(readerOptions) readFunc {
		return func(io.Reader, place) iter.Seq2[op.Record, error] {
			return func(yield func(op.Record, error) bool) {
				yield(op.Record{}, fmt.Errorf("the format needs a package that this program does not import: %s", pkg))
			}
		}
	}
}

// Formats returns the formats in the order of detection.
func Formats() []Format { return slices.Clone(formats) }

// FormatNames returns the valid values of [Options].Format in the order of [Formats]: the short name, if any, and the
// name.
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

// UnknownFormatError reports a file of no known format.
type UnknownFormatError struct {
	// Found describes the beginning of the file.
	Found string
}

// Error describes the beginning of the file and lists the formats.
func (e *UnknownFormatError) Error() string {
	var names []string
	for _, f := range formats {
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	return "unknown format: " + e.Found + "; tried " + strings.Join(names, ", ")
}

// The sizes of the head used for detection. The first suffices for nearly all files, the last for a JSON document with
// long values before the telling key.
const (
	firstLook = 64 << 10
	lastLook  = 1 << 20
)

const minBinary = 64

const maxZeros = 1 << 30 // bounds the zero bytes in front of a file

// FormatOf returns the name of the format of a file by its beginning, "zip" for a zip file, and "" for an empty file.
func (o Options) FormatOf(path string) (string, error) {
	src, closeFile, err := o.openSource(path)
	if err != nil {
		return "", err
	}
	defer closeFile()
	content, err := decompress(&countingReader{src: src, seen: func(int) {}}, nil, nil)
	if err == errZip {
		return "zip", nil
	}
	if err != nil {
		return "", err
	}
	defer content.close()
	found, _, _, err := detect(content, o.Format, nil)
	if found == nil {
		return "", err
	}
	return found.Name, err
}

// detect returns the format of src and the head that it has read, behind a number of zero bytes. The format is nil for an
// empty file. name is the stated format, "" for none. For a followed file, one line or minBinary bytes suffice.
func detect(src io.Reader, name string, t *tail) (found *Format, zeros int64, head []byte, err error) {
	text := make([]byte, 0, firstLook)
	for {
		n, err := src.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		atEnd := errors.Is(err, io.EOF)
		if err != nil && !atEnd {
			return nil, 0, nil, err
		}
		ended := atEnd && !t.grows()
		isFull := len(text) == cap(text)
		if isFull && !atEnd && zeros < maxZeros && isZero(text) { // truncated under its writer
			zeros += int64(len(text) - 1)
			text = text[:1]
			continue
		}
		if t == nil && !ended && !isFull {
			continue
		}
		h := newHead(text, ended)
		isEmpty := h.empty()
		isLine := bytes.IndexByte(text, '\n') >= 0
		isBinary := h.opening == 0
		if isEmpty && ended {
			return nil, 0, nil, nil
		}
		if !isEmpty && (ended || isFull || isLine || atEnd && isBinary && len(text) >= minBinary) {
			if err := h.laterSchema(); err != nil {
				return nil, 0, nil, err
			}
			if f := h.format(name); f != nil {
				return f, zeros, text, nil
			}
		}
		if ended || len(text) == lastLook || atEnd && isLine && !isEmpty && (len(h.members) > 0 || isBinary) {
			if f := h.damagedFormat(name); f != nil {
				return f, zeros, text, nil
			}
			return nil, 0, nil, h.refusal()
		}
		if isFull {
			text = append(make([]byte, 0, min(4*cap(text), lastLook)), text...)
		}
		if atEnd && !t.wait() {
			return nil, 0, nil, context.Cause(t.ctx)
		}
	}
}

func isZero(text []byte) bool { return text[0] == 0 && bytes.Equal(text[1:], text[:len(text)-1]) }

// format returns the format of the file, nil if unknown. name restricts it to the variants of that format; "" is any.
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

func (f *Format) isNamed(name string) bool { return name == f.Name || name == f.Short }

func match(h *head) *Format {
	if h.isErrorAnswer() || isXSpace(h.text) {
		return nil
	}
	for i := range formats {
		if formats[i].detect(h) {
			return &formats[i]
		}
	}
	return nil
}
