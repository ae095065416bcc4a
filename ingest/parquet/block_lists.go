package parquet

import (
	"encoding/binary"
	"slices"

	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/op"
)

// maxListBytes is how much the values of a column of lists may take, in the encoding by
// which they are found, before they are forgotten.
const maxListBytes = 1 << 20

// listColumn is a column of lists, dictionary-encoded as in op.Column. The file has no
// dictionary of lists: equal ones get the same code, from window to window.
type listColumn[T any] struct {
	of        func(r *rows.Row) (list T, ok bool) // false for null
	appendKey func(dst []byte, list T) []byte
	clone     func(list T) T

	codes  [windowRows]uint32
	found  map[string]uint32
	key    []byte
	bytes  int
	column op.Column[T]
}

// load sets the codes of rows.
func (c *listColumn[T]) load(list []rows.Row) {
	if c.found == nil || c.bytes > maxListBytes {
		c.forget()
	}
	for i := range list {
		if v, ok := c.of(&list[i]); ok {
			c.codes[i] = c.code(v)
		} else {
			c.codes[i] = 0
		}
	}
}

// forget leaves the value of null alone.
func (c *listColumn[T]) forget() {
	var null T
	c.found, c.bytes = make(map[string]uint32), 0
	c.column = op.Column[T]{Codes: c.codes[:], Values: append(c.column.Values[:0], null), Version: c.column.Version + 1}
}

// code returns the code of a list.
func (c *listColumn[T]) code(list T) uint32 {
	c.key = c.appendKey(c.key[:0], list)
	code, ok := c.found[string(c.key)] // does not allocate
	if !ok {
		code = uint32(len(c.column.Values))
		c.found[string(c.key)] = code
		c.column.Values = append(c.column.Values, c.clone(list))
		c.bytes += len(c.key) + bytesPerValue
	}
	return code
}

// appendShape appends the encoding of a shape, which nil has too.
func appendShape(dst []byte, s op.Shape) []byte {
	if s == nil {
		return append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(s))+1)
	for _, d := range s {
		dst = binary.AppendVarint(dst, d)
	}
	return dst
}

func appendShapes(dst []byte, list []op.Shape) []byte {
	for _, s := range list {
		dst = appendShape(dst, s)
	}
	return dst
}

func appendDTypes(dst []byte, list []op.DType) []byte {
	for _, t := range list {
		dst = append(binary.AppendUvarint(dst, uint64(len(t))), t...)
	}
	return dst
}

// cloneShapes copies shapes whose dimensions are not to last.
func cloneShapes(list []op.Shape) []op.Shape {
	list = slices.Clone(list)
	for i := range list {
		list[i] = slices.Clone(list[i])
	}
	return list
}
