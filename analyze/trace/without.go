package trace

// Without returns a Forest of the rows of f that are not out. What is below a
// row that is out hangs below the one above it.
func (f *Forest) Without(out []bool) *Forest {
	g := NewLimited(f.limit)
	g.By, g.apart, g.MaxDevices, g.Calls = f.By, f.Devices.Shared, f.MaxDevices, f.Calls
	adopted := f.adopted(out)
	source := &mergeSource{
		columns: f.columns, collected: f.Collectives, links: f.links, numbers: g.Names.numberingOf(&f.Names),
		parent: func(r int32) uint64 {
			if parent := f.Tree.Parent[r]; parent != NoRow && out[parent] {
				return adopted[parent]
			}
			return f.ParentID(r)
		},
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

// adopted returns the id of the parent that the children of each row that is out get.
func (f *Forest) adopted(out []bool) map[int32]uint64 {
	ids := make(map[int32]uint64)
	for r := range f.Tree.topDown() {
		switch parent := f.Tree.Parent[r]; {
		case !out[r]:
		case parent != NoRow && out[parent]:
			ids[r] = ids[parent]
		case parent != NoRow || f.Has(r, flagOrphan):
			ids[r] = f.ParentID(r)
		}
	}
	return ids
}
