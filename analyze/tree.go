package analyze

import "slices"

// noRow stands for the absence of a row.
const noRow int32 = -1

// tree says which row is below which. Its slices take 12 bytes per row.
type tree struct {
	parent []int32 // noRow for roots and duplicates
	// The children of row r are kids[first[r]:first[r+1]], the last to end first.
	first []int32
	kids  []int32
	// roots holds the rows without a parent, grouped by trace, within one the
	// last to end first.
	roots []int32
	// stampRow holds the row of each stamp's root, noRow when it was not read.
	stampRow []int32
}

// children returns the rows directly below r, the last to end first.
func (t *tree) children(r int32) []int32 { return t.kids[t.first[r]:t.first[r+1]] }

// buildTree joins rows to their parents by trace and span id.
//
// A parent that was not read makes an operation an orphan, which becomes a root.
// A duplicate gets no place in the tree. Every other row is in it exactly once,
// whatever the input says.
func (t *Trace) buildTree() {
	t.structure.Orphans, t.structure.Duplicates, t.structure.Repeated, t.structure.Cycles = 0, 0, 0, 0
	for r := range t.n {
		t.clearFlags(r, builtFlags)
	}
	byTrace, first := groupRows(t.n, len(t.dict.traces.values), t.trace)
	t.join(byTrace, first)
	t.breakCycles()
	t.linkChildren()
	t.collectRoots(byTrace, first)
}

// groupRows orders n rows by the group that each belongs to, keeping their
// order within one: those of group g are rows[first[g]:first[g+1]]. Rows of the
// group noRow are left out.
func groupRows(n int32, groups int, group func(r int32) int32) (rows, first []int32) {
	first = make([]int32, groups+1)
	for r := range n {
		if g := group(r); g != noRow {
			first[g+1]++
		}
	}
	for g := range groups {
		first[g+1] += first[g]
	}
	rows = make([]int32, first[groups])
	for r := range n {
		if g := group(r); g != noRow {
			rows[first[g]] = r
			first[g]++
		}
	}
	copy(first[1:], first) // each first[g] has moved to where g+1 begins
	first[0] = 0
	return rows, first
}

// join finds parents and the roots that stamps name, and marks duplicates and
// orphans. Rows without a trace id belong together with nothing.
func (t *Trace) join(byTrace, first []int32) {
	t.tree.parent = slices.Grow(t.tree.parent[:0], t.rows())[:t.rows()]
	t.tree.stampRow = make([]int32, len(t.dict.stamps.values))
	for s := range t.tree.stampRow {
		t.tree.stampRow[s] = noRow
	}
	for _, r := range byTrace[:first[1]] {
		t.setParent(r, noRow)
	}
	index := newSpanIndex(&t.columns)
	for g := 1; g < len(first)-1; g++ {
		rows := byTrace[first[g]:first[g+1]]
		index.reset(len(rows))
		for _, r := range rows {
			if t.span(r) == 0 {
				continue
			}
			if original, found := index.insert(r); found {
				t.markDuplicate(r, original)
			}
		}
		for _, r := range rows {
			parent := noRow
			if t.parentID(r) != 0 {
				parent = index.find(t.parentID(r))
			}
			t.setParent(r, parent)
			if s := t.stamp(r); s != 0 && t.dict.stamps.values[s].span != 0 {
				t.tree.stampRow[s] = index.find(t.dict.stamps.values[s].span)
			}
		}
	}
}

func (t *Trace) markDuplicate(r, original int32) {
	t.setFlags(r, flagDuplicate)
	t.structure.Duplicates++
	same := t.start(r) == t.start(original) && t.duration(r) == t.duration(original) &&
		(t.flags(r)^t.flags(original))&flagStart == 0
	if same {
		t.structure.Repeated++
	}
}

// setParent records the parent of r, noRow for one that was not found.
func (t *Trace) setParent(r, parent int32) {
	if t.has(r, flagDuplicate) {
		parent = noRow
	} else if parent == noRow && t.parentID(r) != 0 && t.has(r, flagOp) {
		t.setFlags(r, flagOrphan)
		t.structure.Orphans++
	}
	t.tree.parent[r] = parent
}

// breakCycles makes a root of one row of each ring of parents, the one that
// starts first. Each row is walked over twice at most.
func (t *Trace) breakCycles() {
	parent := t.tree.parent
	walk := make([]int32, len(parent)) // the walk that came by; 0 is none
	for r := range int32(len(parent)) {
		at := r
		for at != noRow && walk[at] == 0 {
			walk[at] = r + 1
			at = parent[at]
		}
		if at == noRow || walk[at] != r+1 {
			continue // ended at a root, or where an earlier walk has been
		}
		earliest := at
		for next := parent[at]; next != at; next = parent[next] {
			if t.startsBefore(next, earliest) {
				earliest = next
			}
		}
		parent[earliest] = noRow
		t.structure.Cycles++
	}
}

// startsBefore orders rows of a ring: known starts first, then as compareStart does.
func (t *Trace) startsBefore(a, b int32) bool {
	if (t.flags(a)^t.flags(b))&flagStart != 0 {
		return t.has(a, flagStart)
	}
	return t.compareStart(a, b) < 0
}

// linkChildren lists each row's children.
func (t *Trace) linkChildren() {
	parent := t.tree.parent
	t.tree.kids, t.tree.first = groupRows(t.n, len(parent), func(r int32) int32 { return parent[r] })
	for r := range int32(len(parent)) {
		t.sortByEnd(t.tree.children(r))
	}
}

// collectRoots lists the rows without a parent.
func (t *Trace) collectRoots(byTrace, first []int32) {
	t.tree.roots = t.tree.roots[:0]
	for g := range len(first) - 1 {
		n := len(t.tree.roots)
		for _, r := range byTrace[first[g]:first[g+1]] {
			if t.tree.parent[r] == noRow && !t.has(r, flagDuplicate) {
				t.tree.roots = append(t.tree.roots, r)
			}
		}
		t.sortByEnd(t.tree.roots[n:])
	}
}

// sortByEnd sorts rows by end, the last first. Few rows have more than one
// child, and those of most others are in order or in reverse order.
func (t *Trace) sortByEnd(rows []int32) {
	if len(rows) > 1 {
		slices.SortFunc(rows, t.compareEnd)
	}
}
