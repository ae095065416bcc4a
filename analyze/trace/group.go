package trace

import (
	"slices"

	"github.com/optrace/optrace/analyze/key"
)

// GroupBy makes f keep the group of each operation added later. If a key needs the tree, f also keeps what sums of
// groups need, because the groups change once the tree is built.
func (f *Forest) GroupBy(keys []key.Key) {
	f.By = keys
	f.ByTree = slices.ContainsFunc(keys, key.Key.NeedsTree)
}

// FillGroups adds the local roots and operators found in the tree to the groups of operations that state
// none. It reports whether any group changed.
func (f *Forest) FillGroups() bool {
	if !f.ByTree {
		return false
	}
	f.Build()
	changed := slices.Contains(f.By, key.Root) && f.fillRoots()
	return slices.Contains(f.By, key.Operator) && f.fillOperators() || changed
}

// fillOperators fills in operators, and CUDA graphs in their place.
func (f *Forest) fillOperators() (changed bool) {
	if f.Tree.launcher == nil && f.Tree.graphs == nil {
		return false
	}
	for r := range f.Rows() {
		if f.Flags(r)&(FlagOp|FlagHost) == FlagOp &&
			(f.code(r, colGraph) != 0 || f.code(r, colLauncher) == 0 && f.Launcher(r) != NoRow) {
			f.setKey(r, key.Operator, f.LaunchName(r))
			changed = true
		}
	}
	return changed
}

// fillRoots fills in local roots. A duplicate gets the root of the first row with its ids.
func (f *Forest) fillRoots() bool {
	roots := f.localRoots()
	changed := false
	for r := range f.Rows() {
		if !f.Has(r, FlagOp) || f.IsLocal(r) || f.Names.Stamps.Values[f.Stamp(r)].Name != "" {
			continue
		}
		original := r
		if f.Has(r, FlagDuplicate) {
			original = f.Tree.Originals[r]
		}
		name := ""
		switch root := roots[original]; {
		case root == NoRow:
		case int(root) >= f.Len():
			name = f.Names.Stamps.Values[root-f.Rows()].Name
		case f.Span(root) != 0: // operations without ids do not count
			name = f.RowName(root)
		}
		if name != "" {
			f.setKey(r, key.Root, name)
			changed = true
		}
	}
	return changed
}

// setKey replaces the value of a key in the group of row r.
func (f *Forest) setKey(r int32, of key.Key, value string) {
	f.scratch = f.scratch[:0]
	text := f.Names.Groups.Values[f.Group(r)]
	for _, k := range f.By {
		_, rest := k.Decode(text)
		if k == of {
			f.scratch = key.AppendCounted(f.scratch, value)
		} else {
			f.scratch = append(f.scratch, text[:len(text)-len(rest)]...)
		}
		text = rest
	}
	made(&f.columns, &f.block(r).codes[colGroup])[at(r)] = f.Names.Groups.ID(f.scratch)
}

// Group returns the number of n's group by the keys of GroupBy: equal values have equal numbers. It returns -1 for
// spans, for repeats, and without keys.
func (n Node) Group() int {
	if n.IsZero() || n.Forest.By == nil || !n.Forest.CountsInSums(n.Row) {
		return -1
	}
	return int(n.Forest.Group(n.Row))
}

// GroupKey returns the keys and values of the group with the given number.
func (f *Forest) GroupKey(group int) key.Group {
	return key.Group{Keys: f.By, Values: key.Decode(f.Names.Groups.Values[group], f.By)}
}
