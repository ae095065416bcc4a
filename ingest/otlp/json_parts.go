package otlp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/optrace/optrace/ingest/otlp/internal/spans"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Parts says how a large document is read in parts.
type Parts struct {
	// Bytes is the least size of a part.
	Bytes int
	// Thorough makes the reader look for the resource and the scope of a part as far
	// back as the part before. Otherwise they are those of the part before where none
	// start in the last eighth of it.
	Thorough bool
}

// ErrContext is the [op.ErrAgain] of parts whose resource or scope was not the one
// assumed. They may be read again with Parts.Thorough.
var ErrContext = fmt.Errorf("a part of a document is of another resource or scope: %w", op.ErrAgain)

// errUnshared is the error for a document that is read as a whole.
var errUnshared = errors.New("not to be read in parts")

// JSONParts returns the records of one large document of OTLP JSON in parts, which
// several goroutines may read, each a part. What is said at [JSONRecords] holds for the
// parts together, one behind the other.
//
// The places between two parts are found by their text alone: each is in front of a
// span, and stands below a resource and a scope, which are looked for in front of it.
// Whether that is so is known once the part before has been read. If not, that part
// ends with an [op.ErrAgain].
func JSONParts(src io.ReaderAt, size int64, name string, m *attr.Mapping, p Parts) ([]iter.Seq2[op.Record, error], error) {
	// Parts are large, so that it does not matter that places have to be looked for.
	const most, fewest, pieces = 32, 4, 16
	d := &jsonDocument{src: src, size: size, name: name, mapping: m, thorough: p.Thorough}
	d.piece = max(int64(p.Bytes)*fewest, min(int64(p.Bytes)*most, size/pieces), minPiece)
	if size < 2*d.piece || !d.begin() {
		return nil, errUnshared
	}
	d.places = make([]jsonPlace, (size+d.piece-1)/d.piece)
	parts := make([]iter.Seq2[op.Record, error], len(d.places))
	for i := range parts {
		parts[i] = func(yield func(op.Record, error) bool) { d.read(i, yield) }
	}
	return parts, nil
}

// minPiece is the least distance of the places of a document.
const minPiece = 64

// read yields the records of a part.
func (d *jsonDocument) read(i int, yield spans.YieldFunc) {
	p, next := d.place(i), &jsonPlace{offset: d.size}
	if !p.found {
		return // the part before goes on
	}
	for i++; i < len(d.places); i++ {
		if q := d.place(i); q.found {
			next = q
			break
		}
	}
	r := d.reader()
	defer d.release(r)
	r.start(func(rec op.Record, err error) bool {
		if err != nil && next.found { // what is wrong may be the end of the part
			r.short = true
			return false
		}
		return yield(rec, d.atLine(err, p.offset))
	})
	again := d.readBetween(r, p, next)
	if (!r.Stopped || r.ended > 0 || r.short) && again != nil {
		yield(op.Record{}, again)
	}
}

// readBetween reads from one place to the next. It returns an error if the next one is
// wrong, as far as the caller of r has not stopped it.
func (d *jsonDocument) readBetween(r *jsonReader, p, next *jsonPlace) error {
	w := &r.w
	within := func(s section) io.Reader { return io.NewSectionReader(d.src, s.start, s.end-s.start) }
	if p.offset > 0 {
		w.reset(within(p.resource), d.name, op.Position{Offset: p.resource.start})
		found := r.groupHeader(isResource, r.ReadResource)
		w.reset(within(p.scope), d.name, op.Position{Offset: p.scope.start})
		if !found || !r.groupHeader(isScope, r.ReadScope) {
			return op.ErrAgain
		}
		r.resourceAt, r.scopeAt = p.resource.start, p.scope.start
	}
	r.part = next.found
	w.reset(within(section{p.offset, next.offset}), d.name, op.Position{Offset: p.offset})
	if p.offset > 0 {
		w.lex.OneLine(false)
		w.lex.Enter(d.nesting)
		r.isResult, r.known = d.isResult, aScope
		if r.restOfDocument(aSpan, d.isResult); r.next() {
			r.documents()
		}
	} else {
		r.documents()
	}
	switch {
	case !next.found:
		return nil
	case r.ended != len(d.nesting) || r.short || r.lines:
		return op.ErrAgain
	case r.resourceAt != next.resource.start || r.scopeAt != next.scope.start:
		return ErrContext
	}
	return nil
}

// groupHeader reads the header of a ResourceSpans or ScopeSpans object. It reports false
// where that is not all in front of the end of the input.
func (r *jsonReader) groupHeader(header func(key []byte) bool, parse func()) bool {
	w, found := &r.w, false
	w.object()
	for w.more() {
		switch key := w.key(); {
		case header(key) && !found:
			r.read(parse)
			found = true
		case w.peek() == 0: // the list
			return found && !w.failed()
		default:
			w.skip()
		}
	}
	return false
}

// reader returns a reader for a part.
func (d *jsonDocument) reader() *jsonReader {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.free); n > 0 {
		r := d.free[n-1]
		d.free = d.free[:n-1]
		return r
	}
	return newJSONReader(spans.New(d.mapping))
}

// release keeps a reader for other parts.
func (d *jsonDocument) release(r *jsonReader) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free = append(d.free, r)
}

// atLine adds the lines in front of a place to the line of an error.
func (d *jsonDocument) atLine(err error, place int64) error {
	syntax, ok := errors.AsType[*op.SyntaxError](err)
	if !ok || syntax.Line == 0 || place == 0 {
		return err
	}
	syntax.Line += d.linesBefore(place)
	return err
}

// linesBefore returns the number of newlines in front of a place. Those of the place that
// was asked for last are known: there may be many errors behind it.
func (d *jsonDocument) linesBefore(place int64) int64 {
	d.counting.Lock()
	defer d.counting.Unlock()
	if place < d.counted {
		d.counted, d.lines = 0, 0
	}
	block := make([]byte, min(bufferSize, place-d.counted))
	for d.counted < place {
		n, err := d.src.ReadAt(block[:min(int64(len(block)), place-d.counted)], d.counted)
		d.lines += int64(bytes.Count(block[:n], []byte{'\n'}))
		d.counted += int64(n)
		if err != nil {
			break // what is not there has no lines
		}
	}
	return d.lines
}

// section is a part of a file.
type section struct{ start, end int64 }

// jsonPlace is the place of a span within a document.
type jsonPlace struct {
	once   sync.Once
	found  bool
	offset int64 // of the span
	// resource and scope are where the objects that the span stands in start, and where
	// their lists do.
	resource, scope section
}
