package attrmap

import (
	"slices"

	"github.com/optrace/optrace/op"
)

// Target is the destination of an attribute key's values in a [Builder]. Readers may look it up once per key.
type Target struct {
	key string
	to  *target
}

// Target returns the target of key, valid for this Builder.
func (b *Builder) Target(key string) Target { return Target{key: key, to: b.mapping.find(key)} }

// Wanted reports whether the values matter. If not, a reader need not decode them and calls SetOther.
func (t Target) Wanted() bool { return t.to.field != FieldNone || t.to.keep }

// WantsList reports whether the value is a list. A kept list as text is for SetList.
func (t Target) WantsList() bool { return t.to.field.isShape() || t.to.field == FieldInputDTypes }

// SetOther adds an attribute with a value useless for operations, such as a map. Its key counts.
func (b *Builder) SetOther(t Target) {
	b.seen |= t.to.says
	b.bad(t.to.field)
}

// Kept reports whether values of any type are kept.
func (t Target) Kept() bool { return t.to.keep }

// SetEmpty is SetOther for an attribute without a value.
func (b *Builder) SetEmpty(t Target) {
	b.SetOther(t)
	if b.KeepsAll() {
		b.keep(op.Attr{Key: t.key, Value: "null", Type: op.AttrJSON})
	}
}

// SetRaw is SetOther for a known value: JSON, or bytes in base64.
func (b *Builder) SetRaw(t Target, typ op.AttrType, value []byte) {
	b.SetOther(t)
	if t.to.keep {
		b.keep(op.Attr{Key: t.key, Value: b.text(b.listTexts.String(value)), Type: typ})
	}
}

// SetInts adds an attribute with a slice of integers. It copies the slice.
func (b *Builder) SetInts(t Target, v []int64) {
	if t.to.field == FieldOutputShape && !t.to.keep && len(v) <= op.MaxRank && areDims(v) {
		b.seen |= t.to.says
		if b.claim(t.to) {
			b.setOutputShape(v, false)
		}
		return
	}
	b.listText = appendInts(b.listText[:0], v)
	b.SetList(t, b.listText)
}

// SetIntLists adds a list of lists of integers: consecutive in v, with the given ends.
func (b *Builder) SetIntLists(t Target, v []int64, ends []int) {
	if t.to.field == FieldInputShapes && !t.to.keep && b.areShapes(v, ends) {
		b.seen |= t.to.says
		if b.claim(t.to) {
			b.setInputShapes(v, ends)
		}
		return
	}
	text := append(b.listText[:0], '[')
	start := 0
	for i, end := range ends {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendInts(text, v[start:end])
		start = end
	}
	b.listText = append(text, ']')
	b.SetList(t, b.listText)
}

func areDims(v []int64) bool { return len(v) == 0 || slices.Min(v) >= op.Dynamic }

func (b *Builder) areShapes(v []int64, ends []int) bool {
	if len(ends) == 0 || len(ends) > op.MaxInputs {
		return false
	}
	start := 0
	for _, end := range ends {
		if end-start > op.MaxRank {
			return false
		}
		start = end
	}
	return areDims(v)
}

func (b *Builder) setInputShapes(v []int64, ends []int) {
	b.inputs = b.inputs[:0]
	b.inputDims = append(b.inputDims[:0], v...)
	if b.inputDims == nil {
		b.inputDims = make([]int64, 0, 4)
	}
	start := 0
	for _, end := range ends {
		b.inputs = append(b.inputs, op.Shape(b.inputDims[start:end:end]))
		start = end
	}
}
