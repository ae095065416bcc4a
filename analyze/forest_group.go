package analyze

import (
	"encoding/binary"
	"slices"

	"github.com/optrace/optrace/op"
)

// groupBy makes f keep the group of each operation that is added from now on.
// Where the local root is among the keys it keeps what else the sums of groups
// need, because the groups are made again once the tree is there.
func (f *Forest) groupBy(keys []Key) {
	f.by = keys
	f.byRoot = slices.Contains(keys, Key{field: byRoot})
}

// addGroup sets the group of r, which is e.
func (f *Forest) addGroup(r *row, e *op.Entry) {
	f.scratch = appendKeys(f.scratch[:0], f.by, e)
	r.values[colGroup] = int64(f.dict.groups.ID(f.scratch))
	if f.byRoot {
		f.scratch = appendVariety(f.scratch[:0], e)
		r.values[colVariety] = int64(f.dict.varieties.ID(f.scratch))
	}
}

// fillRoots puts the local roots that the tree tells into the groups of the
// operations that state none, and reports whether it changed any. An operation
// that repeats the ids of another one has the root of that.
func (f *Forest) fillRoots() bool {
	if !f.byRoot {
		return false
	}
	roots := f.localRoots()
	changed := false
	for r := range f.n {
		if !f.has(r, flagOp) || f.isLocal(r) || f.dict.stamps.Values[f.stamp(r)].name != "" {
			continue
		}
		original := r
		if f.has(r, flagDuplicate) {
			original = f.tree.originals[r]
		}
		if root := roots[original]; root == noRow || int(root) < f.rows() && f.span(root) == 0 {
			continue // none, or an operation without ids
		}
		if name, _, known := f.localRoot(roots, original); known && name != "" {
			f.setRoot(r, name)
			changed = true
		}
	}
	return changed
}

// setRoot changes the group of row r to that with the root.
func (f *Forest) setRoot(r int32, root string) {
	f.scratch = f.scratch[:0]
	text := f.dict.groups.Values[f.group(r)]
	for _, k := range f.by {
		_, rest := k.cut(text)
		if k.field == byRoot {
			f.scratch = appendCounted(f.scratch, root)
		} else {
			f.scratch = append(f.scratch, text[:len(text)-len(rest)]...)
		}
		text = rest
	}
	f.setGroup(r, f.dict.groups.ID(f.scratch))
}

// appendKeys appends e's values of the keys in a form that differs for different
// ones.
func appendKeys(dst []byte, keys []Key, e *op.Entry) []byte {
	for _, k := range keys {
		dst = k.appendTo(dst, e)
	}
	return dst
}

// cutKeys returns the values in a text of appendKeys.
func cutKeys(text string, keys []Key) []KeyValue {
	values := make([]KeyValue, len(keys))
	for i, k := range keys {
		values[i], text = k.cut(text)
	}
	return values
}

// cut returns the value at the beginning of a text of appendTo, and what follows
// it.
func (k Key) cut(text string) (v KeyValue, rest string) {
	switch k.field {
	case byOperation, byRoot, byService, byPath:
		value, rest := cutCounted(text)
		return textValue(value), rest
	case byKind:
		return textValue(op.Kind(text[0]).String()), text[1:]
	case byRank, byStream, byStep:
		i, rest := cutInt(text)
		return intValue(i), rest
	case byShape:
		end := binary.BigEndian.Uint32([]byte(text[:4])) // counts its own four bytes
		return textValue(text[4:end]), text[end:]
	case byTrace:
		var e op.Entry
		n := copy(e.TraceID[:], text)
		return k.value(&e), text[n:]
	case byDevice, byAttr:
		if text[0] == 0 {
			return KeyValue{}, text[1:]
		}
		value, rest := cutCounted(text[1:])
		return KeyValue{Text: value, Known: true}, rest
	}
	return KeyValue{}, text
}

// cutCounted undoes appendCounted.
func cutCounted(text string) (value, rest string) {
	n, size := binary.Uvarint([]byte(text[:min(len(text), binary.MaxVarintLen64)]))
	end := size + int(n)
	return text[size:end], text[end:]
}

// cutInt undoes appendInt.
func cutInt(text string) (i op.Int, rest string) {
	if text[0] == 0 {
		return op.Int{}, text[1:]
	}
	return op.Known(int64(binary.BigEndian.Uint64([]byte(text[1:9])))), text[9:]
}
