package op

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/optrace/optrace/internal/jsontext"
)

// ReadTrace reads a seed trace: one JSON document with entries,
// total_duration_us and metadata, as the recorder this project started from
// writes it. The numbers of elements and bytes stay as they are in the file;
// durations are rounded to the nanosecond. name stands for src in errors,
// which are of type *[SyntaxError] where the document is at fault.
//
// An entry has no start time, and its step is its place in the sequence.
func ReadTrace(src io.Reader, name string) (*Trace, error) {
	text, err := io.ReadAll(src)
	if err != nil {
		return nil, fmt.Errorf("reading trace: %w", err)
	}
	return ParseTrace(text, name)
}

// ParseTrace is ReadTrace for a document held in memory.
func ParseTrace(text []byte, name string) (*Trace, error) {
	var d decoder
	l := &d.lex
	l.Reset(text)
	t := &Trace{}
	sum, stated := int64(0), false
	for l.Object(); l.More() && d.fault == ""; {
		switch string(l.Key()) {
		case "entries":
			t.Entries, sum = nil, 0
			for l.Array(); l.More() && d.fault == ""; {
				d.seedEntry()
				sum = addSaturating(sum, d.entry.Duration)
				t.Entries = append(t.Entries, *d.entry.Clone())
			}
		case "total_duration_us":
			t.TotalDuration, stated = d.totalDuration()
		case "metadata":
			t.Metadata = nil
			for _, a := range d.attributes(nil) {
				t.WithMetadata(a.Key, a.Value)
			}
		default:
			l.Skip()
		}
	}
	if d.fault == "" {
		l.End()
	}
	switch {
	case l.Err() != nil:
		return nil, &SyntaxError{File: name, Offset: int64(l.Offset()), Msg: l.Err().Error(), Truncated: l.Truncated()}
	case d.fault != "":
		return nil, &SyntaxError{File: name, Offset: int64(d.faultAt), Msg: d.fault}
	}
	if !stated {
		t.TotalDuration = sum
	}
	return t, nil
}

// seedEntry reads one entry of a seed trace.
func (d *decoder) seedEntry() {
	l := &d.lex
	d.resetEntry()
	for l.Object(); l.More(); {
		if !d.entryField(l.Key()) {
			l.Skip()
		}
	}
	if l.Err() == nil {
		d.finishEntry()
	}
	if !d.entry.Start.Known {
		d.entry.Warn |= WarnNoStart
	}
}

// totalDuration reads the duration of the whole trace; null, which is how the
// seed's recorder prints a NaN, is not stated.
func (d *decoder) totalDuration() (ns int64, stated bool) {
	if d.lex.Null() {
		return 0, false
	}
	text := d.lex.Number()
	ns, ok := jsontext.ParseMicros(text)
	if !ok {
		d.wrong("total_duration_us is not a duration that fits 64 bits of nanoseconds")
	}
	return ns, true
}

// AppendJSON appends the trace as the seed's recorder prints it: indented by
// two spaces, unknown numbers and dynamic dimensions as 0, unknown shapes as an
// empty list: its numbers are unsigned. Steps that are not known are numbered
// in order.
func (t *Trace) AppendJSON(dst []byte) []byte {
	w := NewTraceEncoder(dst)
	for i := range t.Entries {
		w.Entry(&t.Entries[i])
	}
	return w.End(t.TotalDuration, t.Metadata)
}

// MarshalJSON returns the text that AppendJSON appends.
func (t *Trace) MarshalJSON() ([]byte, error) { return t.AppendJSON(nil), nil }

// TraceEncoder appends a seed trace entry by entry, for traces that are not
// held in memory.
type TraceEncoder struct {
	// Buf is the text that has been appended and not been taken. A caller may write it
	// out and cut it to Buf[:0] between calls.
	Buf []byte
	n   int64
}

// NewTraceEncoder starts a document behind dst.
func NewTraceEncoder(dst []byte) *TraceEncoder {
	return &TraceEncoder{Buf: append(dst, "{\n  \"entries\": ["...)}
}

// Entry appends e.
func (w *TraceEncoder) Entry(e *Entry) {
	dst := w.Buf
	if w.n > 0 {
		dst = append(dst, ',')
	}
	dst = append(dst, "\n    {\n      \"step\": "...)
	dst = strconv.AppendInt(dst, max(0, e.Step.Or(w.n)), 10)
	dst = append(dst, ",\n      \"operation\": "...)
	dst = jsontext.AppendString(dst, e.Operation)
	dst = append(dst, ",\n      \"device_id\": "...)
	if e.DeviceID == "" {
		dst = append(dst, "null"...)
	} else {
		dst = jsontext.AppendString(dst, e.DeviceID)
	}
	dst = append(dst, ",\n      \"input_shapes\": "...)
	dst = appendIndentedShapes(dst, e.InputShapes)
	dst = append(dst, ",\n      \"output_shape\": "...)
	dst = appendIndentedDims(dst, e.OutputShape, "        ", "      ")
	dst = append(dst, ",\n      \"duration_us\": "...)
	dst = appendSeedMicros(dst, e.Duration)
	dst = append(dst, ",\n      \"output_elements\": "...)
	dst = strconv.AppendInt(dst, e.OutputElements.V, 10)
	dst = append(dst, ",\n      \"memory_bytes\": "...)
	dst = strconv.AppendInt(dst, e.MemoryBytes.V, 10)
	w.Buf = append(dst, "\n    }"...)
	w.n++
}

// End completes the document and returns Buf.
func (w *TraceEncoder) End(totalDuration int64, metadata map[string]string) []byte {
	dst := w.Buf
	if w.n > 0 {
		dst = append(dst, "\n  "...)
	}
	dst = append(dst, "],\n  \"total_duration_us\": "...)
	dst = appendSeedMicros(dst, totalDuration)
	dst = append(dst, ",\n  \"metadata\": {"...)
	for i, k := range slices.Sorted(maps.Keys(metadata)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, "\n    "...)
		dst = jsontext.AppendString(dst, k)
		dst = append(dst, ": "...)
		dst = jsontext.AppendString(dst, metadata[k])
	}
	if len(metadata) > 0 {
		dst = append(dst, "\n  "...)
	}
	w.Buf = append(dst, "}\n}"...)
	return w.Buf
}

// appendSeedMicros appends ns as the microseconds of a float, 100.0 for a
// whole number of them.
func appendSeedMicros(dst []byte, ns int64) []byte {
	dst = jsontext.AppendMicros(dst, ns)
	if ns%1000 == 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

func appendIndentedShapes(dst []byte, shapes []Shape) []byte {
	if len(shapes) == 0 {
		return append(dst, "[]"...)
	}
	dst = append(dst, '[')
	for i, s := range shapes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, "\n        "...)
		dst = appendIndentedDims(dst, s, "          ", "        ")
	}
	return append(dst, "\n      ]"...)
}

func appendIndentedDims(dst []byte, dims Shape, indent, closing string) []byte {
	if len(dims) == 0 {
		return append(dst, "[]"...)
	}
	dst = append(dst, '[')
	for i, d := range dims {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '\n')
		dst = append(dst, indent...)
		dst = strconv.AppendInt(dst, max(0, d), 10)
	}
	dst = append(dst, '\n')
	dst = append(dst, closing...)
	return append(dst, ']')
}
