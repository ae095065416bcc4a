package trace

import "github.com/optrace/optrace/analyze/internal/order"

// Without returns a Forest of the rows not in out. Rows below a removed row move below the row above it.
func (f *Forest) Without(out []bool) *Forest {
	g := NewLimited(f.limit)
	g.By = f.By
	g.apart = f.Devices.Shared
	g.MaxDevices = f.MaxDevices
	g.Calls = f.Calls
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
	from := int32(0)
	for part := range order.RunsOf(out, func(out *bool) bool { return *out }) {
		end := from + int32(len(part))
		if !part[0] {
			runs = append(runs, sourceRun{run: run{row: from}, source: source, end: end})
		}
		from = end
	}
	g.appendRuns(runs)
	return g
}

// adopted returns the new parent id for the children of each removed row.
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
