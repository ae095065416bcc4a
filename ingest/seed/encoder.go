package seed

import (
	"maps"
	"slices"
	"strconv"

	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// Encoder appends a seed trace entry by entry, in the layout of the reference recorder. The format's numbers are
// unsigned: unknown numbers and dynamic dimensions become 0, unknown shapes become empty lists. Unknown steps are
// numbered in order. Two members are additions: side for a host-side entry, and unknown_inputs, the indexes of inputs
// of unknown shape.
type Encoder struct {
	// Buf is the text appended so far. A caller may write it out and cut it to Buf[:0] between calls.
	Buf []byte
	n   int64
}

// NewEncoder starts a document behind dst.
func NewEncoder(dst []byte) *Encoder {
	return &Encoder{Buf: append(dst, "{\n  \"entries\": ["...)}
}

// Entry appends e.
func (w *Encoder) Entry(e *op.Entry) {
	dst := w.Buf
	if w.n > 0 {
		dst = append(dst, ',')
	}
	dst = strconv.AppendInt(append(dst, "\n    {\n      \"step\": "...), max(0, e.Step.Or(w.n)), 10)
	dst = lexer.AppendString(append(dst, ",\n      \"operation\": "...), e.Operation)
	dst = append(dst, ",\n      \"device_id\": "...)
	if e.HasDevice() {
		dst = lexer.AppendString(dst, e.DeviceID)
	} else {
		dst = append(dst, "null"...)
	}
	dst = appendList(append(dst, ",\n      \"input_shapes\": "...), e.InputShapes, "\n      ",
		func(dst []byte, s op.Shape) []byte { return appendList(dst, s, "\n        ", appendDim) })
	dst = appendList(append(dst, ",\n      \"output_shape\": "...), e.OutputShape, "\n      ", appendDim)
	dst = appendSeedMicros(append(dst, ",\n      \"duration_us\": "...), e.Duration)
	dst = strconv.AppendInt(append(dst, ",\n      \"output_elements\": "...), e.OutputElements.V, 10)
	dst = strconv.AppendInt(append(dst, ",\n      \"memory_bytes\": "...), e.MemoryBytes.V, 10)
	if e.Side == op.SideHost {
		dst = append(dst, ",\n      \"side\": \"host\""...)
	}
	var unknown []int64 // they look like scalars in input_shapes
	for i, s := range e.InputShapes {
		if s == nil {
			unknown = append(unknown, int64(i))
		}
	}
	if unknown != nil {
		dst = appendList(append(dst, ",\n      \"unknown_inputs\": "...), unknown, "\n      ", appendDim)
	}
	w.Buf = append(dst, "\n    }"...)
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
		dst = lexer.AppendString(append(dst, "\n    "...), k)
		dst = lexer.AppendString(append(dst, ": "...), metadata[k])
	}
	if len(metadata) > 0 {
		dst = append(dst, "\n  "...)
	}
	w.Buf = append(dst, "}\n}"...)
	return w.Buf
}

// appendSeedMicros appends ns as microseconds in floating point, such as 100.0.
func appendSeedMicros(dst []byte, ns int64) []byte {
	dst = lexer.AppendMicros(dst, ns)
	if ns%1000 == 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

func appendDim(dst []byte, d int64) []byte { return strconv.AppendInt(dst, max(0, d), 10) }

// appendList appends a list with one element a line. newline is a line break and the indent of the list.
func appendList[T any](dst []byte, list []T, newline string, element func([]byte, T) []byte) []byte {
	dst = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = element(append(append(dst, newline...), "  "...), v)
	}
	if len(list) > 0 {
		dst = append(dst, newline...)
	}
	return append(dst, ']')
}
