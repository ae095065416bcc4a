package analyze

// reduced returns a Forest of the rows of f that are not out. What is below a
// row that is out hangs below the one above it.
func (f *Forest) reduced(out []bool) *Forest {
	g := newForest(f.limit)
	g.by, g.apart = f.by, f.onDevice.shared
	adoption := adoption{forest: f, out: out, ids: make(map[int32]uint64)}
	source := &mergeSource{
		columns: f.columns, collected: f.collected, links: f.links, dict: &f.dict, numbers: g.dict.numberingOf(&f.dict),
		parent: adoption.parentID,
	}
	var runs []sourceRun
	for from := int32(0); from < f.rowCount(); {
		next := sourceRun{run: run{row: from}, source: source, end: from}
		for next.end < f.rowCount() && out[next.end] == out[from] {
			next.end++
		}
		if !out[from] {
			runs = append(runs, next)
		}
		from = next.end
	}
	g.appendRuns(runs)
	return g
}

// adoption finds new parents for rows whose own are left out.
type adoption struct {
	forest *Forest
	out    []bool
	// ids has the parent of the children of a row that is out.
	ids map[int32]uint64
	way []int32
}

// parentID returns the id of the parent that row r gets.
func (a *adoption) parentID(r int32) uint64 {
	if parent := a.forest.tree.parent[r]; parent != noRow && a.out[parent] {
		return a.parentBelow(parent)
	}
	return a.forest.parentID(r)
}

// parentBelow returns the id of the parent that the children of row r get,
// which is out.
func (a *adoption) parentBelow(r int32) uint64 {
	a.way = a.way[:0]
	id, known := a.ids[r]
	for !known {
		a.way = append(a.way, r)
		parent := a.forest.tree.parent[r]
		if parent == noRow || !a.out[parent] {
			id = a.parentOf(r)
			break
		}
		r = parent
		id, known = a.ids[r]
	}
	for _, r := range a.way {
		a.ids[r] = id
	}
	return id
}

// parentOf returns the id of the parent of row r: 0 for a root, and where a
// ring was cut.
func (a *adoption) parentOf(r int32) uint64 {
	if a.forest.tree.parent[r] == noRow && !a.forest.has(r, flagOrphan) {
		return 0
	}
	return a.forest.parentID(r)
}
