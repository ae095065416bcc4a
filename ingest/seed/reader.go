// Package seed reads and writes the format of the reference recorder: one JSON document of entries, total duration and
// metadata. [Records] reads a document, an [Encoder] writes one.
package seed

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/model/decode"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/jsonstream"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/lineio"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

const maxHeld = 64 << 20 // the size of the largest trace that Records holds in memory

// Records reads a seed trace: one JSON document with entries, total_duration_us and metadata. It yields the metadata as
// the attributes of a resource, sorted by key, then the entries, then the total if the trace states one. Of a trace above
// 64 MiB the metadata come at their place in the document. name stands for src in errors.
//
// An entry has no start time, and its step is its place in the sequence. Durations are rounded to the nanosecond. An
// output shape without dimensions and without elements is unknown.
//
// A *[op.SyntaxError] of class [op.ErrorSyntax] is the last thing yielded: the document is damaged there. One of another
// class describes a single bad entry, with its index. Any other error is that of src and ends the sequence.
func Records(src io.Reader, name string) iter.Seq2[op.Record, error] {
	return records(src, name, maxHeld)
}

// records is Records for a maximum of held bytes.
func records(src io.Reader, name string, held int) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		text, err := lineio.ReadUpTo(src, held+1)
		if err != nil {
			yield(op.Record{}, fmt.Errorf("reading trace: %w", err))
			return
		}
		r := &reader{yield: yield, metadataFirst: len(text) <= held}
		rest := io.Reader(bytes.NewReader(text))
		if !r.metadataFirst {
			rest = io.MultiReader(rest, src)
		} else if !r.resource(metadataOf(text)) {
			return
		}
		r.stream = jsonstream.NewReader(rest, name)
		r.read()
	}
}

type reader struct {
	stream        *jsonstream.Reader
	dec           decode.Decoder
	yield         func(op.Record, error) bool
	metadataFirst bool // metadata have been yielded
	total         op.Int
	sum           int64
}

// metadataOf returns the metadata of a document. They stand behind the entries.
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

// read yields the records in the order of the document.
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

// resource yields the metadata unless they are empty.
func (r *reader) resource(attrs []op.Attr) bool {
	return len(attrs) == 0 || r.yield(op.Record{Resource: &op.Resource{Attrs: attrs}}, nil)
}

// value reads the value of a member, and reports whether to go on.
func (r *reader) value(read func(*decode.Decoder)) bool {
	err := r.decode(-1, read)
	return r.stream.Err() != nil || err == nil || r.yield(op.Record{}, err) // an error of the stream ends the document
}

// decode reads the next value. The error names the entry unless index is negative.
func (r *reader) decode(index int, read func(*decode.Decoder)) error {
	s := r.stream
	d := &r.dec
	attempt := func(text []byte) {
		d.Lex.Reset(text)
		d.Reset()
		read(d)
	}
	// Nearly always the buffer holds the whole, well-formed value. Then a search for its end is not needed.
	if attempt(s.Buffered()); d.Lex.Err() == nil && !d.Lex.AtEnd() {
		s.Pass(d.Lex.Offset())
	} else {
		text, err := s.Value()
		if err != nil {
			return err
		}
		attempt(text)
	}
	at := d.FaultAt
	msg := d.Fault
	if err := d.Lex.Err(); err != nil {
		at = d.Lex.Offset()
		msg = err.Error()
	}
	if msg == "" {
		return nil
	}
	if index >= 0 {
		msg = fmt.Sprintf("entries[%d]: %s", index, msg)
	}
	damage := s.SyntaxError(at, msg)
	damage.Class = op.ErrorRecord
	damage.Truncated = d.Lex.Truncated()
	return damage
}

// entries yields the entries, and the errors of bad ones. It reports whether to go on.
func (r *reader) entries() bool {
	s := r.stream
	i := 0
	for s.Array(); s.More(); i++ {
		rec := op.Record{Entry: &r.dec.Entry}
		err := r.decode(i, readEntry)
		switch {
		case s.Err() != nil: // the end of the document
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

// indexes reads a list of integers. It skips other values.
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

// totalDuration reads total_duration_us in nanoseconds. null is unknown: the reference recorder writes it for a NaN.
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

// Encoder appends a seed trace entry by entry, in the layout of the reference recorder. The format's numbers are
// unsigned: unknown numbers and dynamic dimensions become 0, unknown shapes become empty lists. Unknown steps are
// numbered in order. Two members are additions: side for a host-side entry, and unknown_inputs, the indexes of inputs
// of unknown shape.
type Encoder struct {
	// Buf is the text appended so far. A caller may write it out and cut it to Buf[:0] between calls.
	Buf  []byte
	text []byte // of an entry
	n    int64
}

// NewEncoder starts a document behind dst.
func NewEncoder(dst []byte) *Encoder {
	return &Encoder{Buf: append(dst, "{\n  \"entries\": ["...)}
}

// Entry appends e.
func (w *Encoder) Entry(e *op.Entry) {
	dst := w.text[:0]
	dst = strconv.AppendInt(append(dst, `{"step":`...), max(0, e.Step.Or(w.n)), 10)
	dst = scalar.AppendString(append(dst, `,"operation":`...), e.Operation)
	dst = append(dst, `,"device_id":`...)
	if e.HasDevice() {
		dst = scalar.AppendString(dst, e.DeviceID)
	} else {
		dst = append(dst, "null"...)
	}
	dst = scalar.AppendList(append(dst, `,"input_shapes":`...), e.InputShapes,
		func(dst []byte, s op.Shape) []byte { return scalar.AppendList(dst, s, appendDim) })
	dst = scalar.AppendList(append(dst, `,"output_shape":`...), e.OutputShape, appendDim)
	dst = appendSeedMicros(append(dst, `,"duration_us":`...), e.Duration)
	dst = strconv.AppendInt(append(dst, `,"output_elements":`...), e.OutputElements.V, 10)
	dst = strconv.AppendInt(append(dst, `,"memory_bytes":`...), e.MemoryBytes.V, 10)
	if e.Side == op.SideHost {
		dst = append(dst, `,"side":"host"`...)
	}
	var unknown []int64 // they look like scalars in input_shapes
	for i, s := range e.InputShapes {
		if s == nil {
			unknown = append(unknown, int64(i))
		}
	}
	if unknown != nil {
		dst = scalar.AppendList(append(dst, `,"unknown_inputs":`...), unknown, appendDim)
	}
	w.text = append(dst, '}')
	if w.n > 0 {
		w.Buf = append(w.Buf, ',')
	}
	b := bytes.NewBuffer(append(w.Buf, "\n    "...))
	_ = json.Indent(b, w.text, "    ", "  ") // it is valid
	w.Buf = b.Bytes()
	w.n++
}

// End completes the document and returns Buf.
func (w *Encoder) End(totalDuration int64, metadata map[string]string) []byte {
	dst := w.Buf
	if w.n > 0 {
		dst = append(dst, "\n  "...)
	}
	dst = appendSeedMicros(append(dst, "],\n  \"total_duration_us\": "...), totalDuration)
	dst = append(dst, ",\n  \"metadata\": {"...)
	for i, k := range slices.Sorted(maps.Keys(metadata)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = scalar.AppendString(append(dst, "\n    "...), k)
		dst = scalar.AppendString(append(dst, ": "...), metadata[k])
	}
	if len(metadata) > 0 {
		dst = append(dst, "\n  "...)
	}
	w.Buf = append(dst, "}\n}"...)
	return w.Buf
}

// appendSeedMicros appends ns as microseconds in floating point, such as 100.0.
func appendSeedMicros(dst []byte, ns int64) []byte {
	dst = scalar.AppendMicros(dst, ns)
	if ns%1000 == 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

func appendDim(dst []byte, d int64) []byte { return strconv.AppendInt(dst, max(0, d), 10) }
