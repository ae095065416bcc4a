package trace

import (
	"slices"

	"github.com/optrace/optrace/analyze/key"
)

// GroupBy makes f keep the group of each operation that is added from now on.
// Where the tree tells one of the keys it keeps what else the sums of groups
// need, because the groups are made again once the tree is there.
func (f *Forest) GroupBy(keys []key.Key) {
	f.By = keys
	f.ByTree = slices.ContainsFunc(keys, key.Key.NeedsTree)
}

// FillGroups puts the local roots and operators that the tree tells into the groups of the
// operations that state none, and reports whether it changed any.
func (f *Forest) FillGroups() bool {
	if !f.ByTree {
		return false
	}
	f.Build()
	changed := slices.Contains(f.By, key.Root) && f.fillRoots()
	return slices.Contains(f.By, key.Operator) && f.fillOperators() || changed
}

// fillOperators fills in the operators, and puts CUDA graphs in their place.
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

// fillRoots fills in the local roots. An operation that repeats the ids of another one has the
// root of that.
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
		case f.Span(root) != 0: // not an operation without ids
			name = f.RowName(root)
		}
		if name != "" {
			f.setKey(r, key.Root, name)
			changed = true
		}
	}
	return changed
}

// setKey changes the group of row r to that with a text for a key.
func (f *Forest) setKey(r int32, of key.Key, value string) {
	f.scratch = f.scratch[:0]
	text := f.Names.Groups.Values[f.Group(r)]
	for _, k := range f.By {
		_, rest := k.Cut(text)
		if k == of {
			f.scratch = key.AppendCounted(f.scratch, value)
		} else {
			f.scratch = append(f.scratch, text[:len(text)-len(rest)]...)
		}
		text = rest
	}
	made(&f.columns, &f.block(r).codes[colGroup])[at(r)] = f.Names.Groups.ID(f.scratch)
}

// Group returns the number of the operation's group, by the keys of GroupBy: operations
// with the same values have the same number. It is -1 for a span that is no operation, for
// a repeat of an operation, and where the forest was made without keys.
func (n Node) Group() int {
	if n.IsZero() || n.Forest.By == nil || !n.Forest.CountsInSums(n.Row) {
		return -1
	}
	return int(n.Forest.Group(n.Row))
}

// GroupKey returns the keys of the groups, and the values that they have in the group of that
// number.
func (f *Forest) GroupKey(group int) key.Group {
	return key.Group{Keys: f.By, Values: key.Cut(f.Names.Groups.Values[group], f.By)}
}
