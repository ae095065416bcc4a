package analyze

import (
	"math/bits"
	"slices"

	"github.com/optrace/optrace/op"
)

// maxKeyCodes bounds the codes that identify a group, and the versions of its columns.
// All keys together, each at most once, have as many with the side.
const maxKeyCodes = 16

// codeCache is a direct-mapped cache of values by the codes of columns. The zero value is
// ready to use.
type codeCache[V any] struct {
	slots [codeSlots]codeSlot[V]
}

type codeSlot[V any] struct {
	n     int // of the codes; 0 for an empty slot
	codes [maxKeyCodes]uint64
	value V
}

// codeSlots is a power of two, for some hundreds of values.
const (
	codeBits  = 9
	codeSlots = 1 << codeBits
	// codeRotation keeps small codes that follow one another apart.
	codeRotation = 23
)

// slot returns the value of codes, of which there are one to maxKeyCodes, and true. Where
// the cache has none, it returns a place for it and false.
func (c *codeCache[V]) slot(codes []uint64) (value *V, ok bool) {
	hash := uint64(0)
	for _, k := range codes {
		hash = bits.RotateLeft64(hash, codeRotation) ^ k
	}
	s := &c.slots[hash*mix>>(64-codeBits)]
	if s.n == len(codes) && slices.Equal(s.codes[:s.n], codes) {
		return &s.value, true
	}
	s.n = copy(s.codes[:], codes)
	return &s.value, false
}

// clear makes the cache empty.
func (c *codeCache[V]) clear() {
	for i := range c.slots {
		c.slots[i].n = 0
	}
}

// appendKeyCodes appends what tells the groups of rows apart: codes, and numbers as they
// are.
func appendKeyCodes(dst []uint64, keys []Key, c *op.Columns, i int) []uint64 {
	for _, k := range keys {
		switch k.field {
		case byOperation:
			dst = append(dst, uint64(c.Operation.Codes[i]))
		case byKind:
			dst = append(dst, uint64(c.Kind.Codes[i]))
		case byDevice:
			dst = append(dst, uint64(c.DeviceID.Codes[i]))
		case byRank:
			dst = appendIntCode(dst, c.Rank.At(i))
		case byStream:
			dst = appendIntCode(dst, c.Stream.At(i))
		case byShape:
			dst = append(dst, uint64(c.InputShapes.Codes[i]), uint64(c.OutputShape.Codes[i]), uint64(c.DType.Codes[i]))
		case byStep:
			dst = appendIntCode(dst, c.Step.At(i))
		case byRoot:
			dst = append(dst, uint64(c.Root.Codes[i]))
		case byService:
			dst = append(dst, uint64(c.Service.Codes[i]))
		case byTrace:
			dst = append(dst, uint64(c.Trace.Codes[i]))
		}
	}
	return dst
}

// codesOf returns the codes of a column that alone tell groups apart, and how many codes
// there are, nil where that takes more.
func codesOf(keys []Key, c *op.Columns) (codes []uint32, n int) {
	if len(keys) != 1 {
		return nil, 0
	}
	switch keys[0].field {
	case byOperation:
		return c.Operation.Codes, len(c.Operation.Values)
	case byKind:
		return c.Kind.Codes, len(c.Kind.Values)
	case byDevice:
		return c.DeviceID.Codes, len(c.DeviceID.Values)
	case byRoot:
		return c.Root.Codes, len(c.Root.Values)
	case byService:
		return c.Service.Codes, len(c.Service.Values)
	}
	return nil, 0
}

func appendIntCode(dst []uint64, i op.Int) []uint64 {
	known := uint64(0)
	if i.Known {
		known = 1
	}
	return append(dst, uint64(i.V), known)
}

// appendKeyVersions appends the versions of the columns whose codes appendKeyCodes
// appends, but for shapes and types.
func appendKeyVersions(dst []int64, keys []Key, c *op.Columns) []int64 {
	for _, k := range keys {
		switch k.field {
		case byOperation:
			dst = append(dst, c.Operation.Version)
		case byKind:
			dst = append(dst, c.Kind.Version)
		case byDevice:
			dst = append(dst, c.DeviceID.Version)
		case byRoot:
			dst = append(dst, c.Root.Version)
		case byService:
			dst = append(dst, c.Service.Version)
		case byTrace:
			dst = append(dst, c.Trace.Version)
		}
	}
	return dst
}

// keyEntry returns an entry with the values of keys that row i has. Its shapes are valid
// until others are asked for.
func keyEntry(keys []Key, c *op.Columns, i int) (e op.Entry) {
	for _, k := range keys {
		switch k.field {
		case byOperation:
			e.Operation = c.Operation.At(i)
		case byKind:
			e.Kind = c.Kind.At(i)
		case byDevice:
			e.DeviceID = c.DeviceID.At(i)
		case byRank:
			e.Rank = c.Rank.At(i)
		case byStream:
			e.Stream = c.Stream.At(i)
		case byShape:
			e.InputShapes, e.OutputShape, e.DType = c.InputShapes.At(i), c.OutputShape.At(i), c.DType.At(i)
		case byStep:
			e.Step = c.Step.At(i)
		case byRoot:
			e.Root = c.Root.At(i)
		case byService:
			e.Service = c.Service.At(i)
		case byTrace:
			e.TraceID = c.Trace.At(i)
		}
	}
	return e
}

// appendVarietyCodes appends the codes of the shapes and element types of a row.
func appendVarietyCodes(dst []uint64, c *op.Columns, i int) []uint64 {
	return append(dst, uint64(c.InputShapes.Codes[i]), uint64(c.OutputShape.Codes[i]),
		uint64(c.DType.Codes[i]), uint64(c.InputDTypes.Codes[i]))
}

// varietyEntry returns an entry with the shapes and element types of a row, which are
// valid until others are asked for.
func varietyEntry(c *op.Columns, i int) (e op.Entry) {
	setVariety(&e, c, i)
	return e
}

// setVariety gives an entry the shapes and element types of a row.
func setVariety(e *op.Entry, c *op.Columns, i int) {
	e.InputShapes, e.OutputShape = c.InputShapes.At(i), c.OutputShape.At(i)
	e.DType, e.InputDTypes = c.DType.At(i), c.InputDTypes.At(i)
}
