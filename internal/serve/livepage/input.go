package livepage

import (
	"fmt"
	"hash/fnv"
	"slices"
	"unicode/utf8"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opfields"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/op/entries"
)

// Input is one source of a window's records, such as a file. It is safe for concurrent use.
type Input struct {
	window *Window
	format string
	bytes  int64 // guarded by window.mu
}

// Mapping tells readers to keep the attributes of spans in which inference engines describe requests.
var Mapping = attrmap.With(nil, attr.Want{Spans: engines.Keys()})

// Input returns a new input. Reports name its format, "" if it is not known yet.
func (w *Window) Input(format string) *Input {
	in := &Input{window: w, format: format}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inputs = append(w.inputs, in)
	return in
}

// SetFormat sets the format.
func (in *Input) SetFormat(format string) {
	in.window.mu.Lock()
	defer in.window.mu.Unlock()
	in.format = format
}

// AddBytes counts bytes read.
func (in *Input) AddBytes(n int64) {
	in.window.mu.Lock()
	defer in.window.mu.Unlock()
	in.bytes += n
}

// Writer returns a Writer of records of the input.
func (in *Input) Writer() *Writer { return &Writer{window: in.window} }

// Writer puts records into a window. It is not safe for concurrent use; a window may have any number of writers.
type Writer struct {
	window   *Window
	text     []byte
	header   int // length of text's header
	resource *op.Resource
	open     block
}

const blockText = 64 << 10

// blockOthers is the number of other records in a full block, and blockShare the share of a window in one block.
const (
	blockOthers = 256
	blockShare  = 16
)

// Add takes a record, or the error of an unreadable one, as yielded by the readers of package ingest. It does not
// retain rec. Added records show after Flush at the latest.
func (w *Writer) Add(rec op.Record, err *op.SyntaxError) {
	switch {
	case err != nil:
		w.open.errors = append(w.open.errors, err)
	case rec.Resource != nil:
		if w.resource == nil || !opfile.SameResource(w.resource, rec.Resource) {
			w.Flush()
			w.resource = rec.Resource.Clone()
			w.text = nil
		}
	case rec.Entry != nil:
		e := withShortTexts(rec.Entry)
		w.line(e.AppendJSON, &w.open.operations)
		if observe := w.window.limits.Observe; observe != nil {
			observe(e)
		}
	case rec.Span != nil:
		s := *rec.Span
		s.Name = ShortText(s.Name)
		s.Service = ShortText(s.Service)
		s.Attrs = slices.Clone(s.Attrs)
		for i := range s.Attrs {
			s.Attrs[i].Value = ShortText(s.Attrs[i].Value)
		}
		w.line(s.AppendJSON, &w.open.spans)
	case rec.Gap != nil:
		w.open.others = append(w.open.others, op.Record{Gap: new(*rec.Gap)})
	case rec.Batch != nil:
		// A batch may still be growing: drop its promised entries.
		w.open.others = append(w.open.others, op.Record{Batch: &op.Batch{Writer: rec.Batch.Writer,
			Sequence: rec.Batch.Sequence}})
	case rec.Total != nil:
		w.open.others = append(w.open.others, op.Record{Total: new(*rec.Total)})
	}
	w.skip(rec.Skipped)
	if len(w.text) >= blockText || len(w.open.others)+len(w.open.errors) >= blockOthers ||
		w.open.records() >= max(1, w.window.limits.Records/blockShare) {
		w.Flush()
	}
}

const longText = 256 // the length above which texts are cut, because a window may have one text per record

// ShortText returns text, or the beginning of a long text and a hash.
func ShortText(text string) string {
	if len(text) <= longText {
		return text
	}
	n := longText
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return fmt.Sprintf("%s…%08x", text[:n], h.Sum32())
}

func withShortTexts(e *op.Entry) *op.Entry {
	short := e
	for i := range opfields.Entry {
		text, ok := opfields.Entry[i].At.(func(*op.Entry) *string)
		if !ok || len(*text(e)) <= longText {
			continue
		}
		if short == e {
			short = new(*e)
		}
		*text(short) = ShortText(*text(e))
	}
	return short
}

func (w *Writer) line(appendTo func([]byte) []byte, count *int) {
	if len(w.text) == 0 {
		w.text = append(op.AppendHeader(w.text, w.resource), '\n')
		w.header = len(w.text)
	}
	start := len(w.text)
	w.text = append(appendTo(w.text), '\n')
	if len(w.text)-start > entries.MaxLineBytes {
		w.text = w.text[:start]
		w.open.errors = append(w.open.errors, &op.SyntaxError{
			File: "window", Offset: -1, Class: op.ErrorLimit, Msg: "a record is larger than a line may be",
		})
		return
	}
	*count++
}

func (w *Writer) skip(s op.Skipped) {
	if s.N == 0 {
		return
	}
	for i := range w.open.others {
		if o := &w.open.others[i].Skipped; o.Reason == s.Reason && o.N > 0 {
			o.N += s.N
			return
		}
	}
	w.open.others = append(w.open.others, op.Record{Skipped: s})
}

// Flush puts added records into the window.
func (w *Writer) Flush() {
	b := w.open
	if b.records() == 0 {
		return
	}
	if b.operations+b.spans > 0 {
		b.text = slices.Clone(w.text)
	}
	w.text = w.text[:min(len(w.text), w.header)]
	if cap(w.text) > 4*blockText {
		w.text = nil
	}
	w.open = block{}
	w.window.add(&b)
}
