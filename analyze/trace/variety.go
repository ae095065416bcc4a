package trace

import (
	"encoding/binary"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
)

// appendVariety appends the shapes and element types of an entry, which
// entryVariety reads back. It appends nothing where none is known.
func appendVariety(dst []byte, e *op.Entry) []byte {
	if e.InputShapes == nil && e.OutputShape == nil && e.DType == "" && e.InputDTypes == nil {
		return dst
	}
	dst = appendLength(dst, len(e.InputShapes), e.InputShapes == nil)
	for _, s := range e.InputShapes {
		dst = appendDimensions(dst, s)
	}
	dst = appendDimensions(dst, e.OutputShape)
	dst = key.AppendCounted(dst, string(e.DType))
	dst = appendLength(dst, len(e.InputDTypes), e.InputDTypes == nil)
	for _, t := range e.InputDTypes {
		dst = key.AppendCounted(dst, string(t))
	}
	return dst
}

func appendDimensions(dst []byte, s op.Shape) []byte {
	dst = appendLength(dst, len(s), s == nil)
	for _, d := range s {
		dst = binary.AppendVarint(dst, d)
	}
	return dst
}

// appendLength appends the length of a list, distinct from one that is not known.
func appendLength(dst []byte, n int, unknown bool) []byte {
	if unknown {
		return append(dst, 0)
	}
	return binary.AppendUvarint(dst, uint64(n)+1)
}

// EntryVariety returns an entry with the shapes and element types that
// appendVariety wrote.
func EntryVariety(text string) op.Entry {
	var e op.Entry
	if text == "" {
		return e
	}
	r := varietyReader{[]byte(text)}
	if n, known := r.length(); known {
		e.InputShapes = make([]op.Shape, n)
		for i := range e.InputShapes {
			e.InputShapes[i] = r.shape()
		}
	}
	e.OutputShape = r.shape()
	e.DType = op.DType(r.text())
	if n, known := r.length(); known {
		e.InputDTypes = make([]op.DType, n)
		for i := range e.InputDTypes {
			e.InputDTypes[i] = op.DType(r.text())
		}
	}
	return e
}

// varietyReader reads what appendVariety wrote.
type varietyReader struct{ rest []byte }

func (r *varietyReader) number() uint64 {
	v, n := binary.Uvarint(r.rest)
	r.rest = r.rest[n:]
	return v
}

func (r *varietyReader) length() (n int, known bool) {
	v := r.number()
	return int(v) - 1, v > 0
}

func (r *varietyReader) shape() op.Shape {
	n, known := r.length()
	if !known {
		return nil
	}
	s := make(op.Shape, n)
	for i := range s {
		d, size := binary.Varint(r.rest)
		s[i], r.rest = d, r.rest[size:]
	}
	return s
}

func (r *varietyReader) text() string {
	n := r.number()
	text := string(r.rest[:n])
	r.rest = r.rest[n:]
	return text
}
