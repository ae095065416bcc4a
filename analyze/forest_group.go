package analyze

import (
	"slices"

	"github.com/optrace/optrace/op"
)

// groupBy makes f keep the group of each operation that is added from now on.
// Where the local root is among the keys it keeps what else the sums of groups
// need, because the groups are made again once the tree is there.
func (f *Forest) groupBy(keys []Key) {
	f.by = keys
	f.byRoot = slices.Contains(keys, RootKey)
}

// addGroup sets the group of r, which is e.
func (f *Forest) addGroup(r *row, e *op.Entry) {
	f.scratch = appendKeys(f.scratch[:0], f.by, e)
	r.codes[colGroup] = f.dict.groups.ID(f.scratch)
	if f.byRoot {
		f.scratch = appendVariety(f.scratch[:0], e)
		r.codes[colVariety] = f.dict.varieties.ID(f.scratch)
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
	for r := range f.rowCount() {
		if !f.has(r, flagOp) || f.isLocal(r) || f.dict.stamps.Values[f.stamp(r)].name != "" {
			continue
		}
		original := r
		if f.has(r, flagDuplicate) {
			original = f.tree.originals[r]
		}
		if root := roots[original]; root == noRow || int(root) < f.Len() && f.span(root) == 0 {
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
		if k == RootKey {
			f.scratch = appendCounted(f.scratch, root)
		} else {
			f.scratch = append(f.scratch, text[:len(text)-len(rest)]...)
		}
		text = rest
	}
	f.setGroup(r, f.dict.groups.ID(f.scratch))
}

// Group returns the number of the operation's group, by the keys of [Options].By: operations
// with the same values have the same number. It is -1 for a span that is no operation, for
// a repeat of an operation, and where the forest was made without keys.
func (n Node) Group() int {
	if n.IsZero() || n.forest.by == nil || !n.forest.countsInSums(n.row) {
		return -1
	}
	return int(n.forest.group(n.row))
}

// GroupKey returns the keys of the groups, and the values that they have in the group of that
// number.
func (f *Forest) GroupKey(group int) GroupKey {
	return GroupKey{Keys: f.by, Values: cutKeys(f.dict.groups.Values[group], f.by)}
}
