package trace

// Without returns a Forest of the rows of f that are not out. What is below a
// row that is out hangs below the one above it.
func (f *Forest) Without(out []bool) *Forest {
	g := NewLimited(f.limit)
	g.By, g.apart, g.MaxDevices, g.Calls = f.By, f.Devices.Shared, f.MaxDevices, f.Calls
	adoption := adoption{forest: f, out: out, ids: make(map[int32]uint64)}
	source := &mergeSource{
		columns: f.columns, collected: f.Collectives, links: f.links, dict: &f.Names, numbers: g.Names.numberingOf(&f.Names),
		parent: adoption.parentID,
	}
	var runs []sourceRun
	for from := int32(0); from < f.Rows(); {
		next := sourceRun{run: run{row: from}, source: source, end: from}
		for next.end < f.Rows() && out[next.end] == out[from] {
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
	if parent := a.forest.Tree.Parent[r]; parent != NoRow && a.out[parent] {
		return a.parentBelow(parent)
	}
	return a.forest.ParentID(r)
}

// parentBelow returns the id of the parent that the children of row r get,
// which is out.
func (a *adoption) parentBelow(r int32) uint64 {
	a.way = a.way[:0]
	id, known := a.ids[r]
	for !known {
		a.way = append(a.way, r)
		parent := a.forest.Tree.Parent[r]
		if parent == NoRow || !a.out[parent] {
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
	if a.forest.Tree.Parent[r] == NoRow && !a.forest.Has(r, flagOrphan) {
		return 0
	}
	return a.forest.ParentID(r)
}
