package trace

import (
	"cmp"
	"slices"
	"strings"

	"github.com/optrace/optrace/internal/model/symbols"
	"github.com/optrace/optrace/op"
)

// Launcher returns the row of the innermost host operator to launch the operation in row r, or NoRow if unknown or unread.
// It is the first of
//
//  1. the operator named by its span id,
//  2. the nearest host operation above it,
//  3. the last host operation of its trace and process to start, among the ones running at its launch.
//     This does not apply to traces from profiles: their readers know the threads of launches.
func (f *Forest) Launcher(r int32) int32 {
	if f.Tree.launcher == nil {
		return NoRow
	}
	return f.Tree.launcher[r]
}

// LauncherName returns the name of the launching operator of row r, "" if unknown.
func (f *Forest) LauncherName(r int32) string {
	if host := f.Launcher(r); host != NoRow {
		return f.RowName(host)
	}
	return f.Names.Launchers.Values[f.code(r, colLauncher)]
}

// HasLaunchers reports whether f has host operators or their names.
func (f *Forest) HasLaunchers() bool {
	return f.Tree.launcher != nil || len(f.Names.Launchers.Values) > 1
}

// HasGraphs reports whether a CUDA graph launched any operation.
func (f *Forest) HasGraphs() bool { return f.Tree.graphs != nil }

// Graph returns the launching CUDA graph of row r and its name, or "". The name consists of the graph's number and, in
// parentheses, the operator around its launches or their phase, if common to all launches. Graphs without numbers are
// distinguished by the text in parentheses.
func (f *Forest) Graph(r int32) (name string, g *Graph) {
	if f.Tree.graphs == nil {
		return "", nil
	}
	k := f.graphKey(r)
	return f.Tree.graphs[k], &f.Names.Graphs.Values[k.graph]
}

func (f *Forest) graphKey(r int32) graphKey {
	k := graphKey{graph: f.code(r, colGraph)}
	if k.graph != 0 && f.Names.Graphs.Values[k.graph].ID == "" {
		k.around = cmp.Or(f.LauncherName(r), f.Names.Marks.Values[f.Mark(r)].Phase)
	}
	return k
}

// LaunchName returns the name of the launching CUDA graph of row r if no capture has its operator, else
// [Forest.LauncherName].
func (f *Forest) LaunchName(r int32) string {
	if name, g := f.Graph(r); name != "" && (g.Node == "" || g.Node != f.LauncherName(r)) {
		return name
	}
	return f.LauncherName(r)
}

func (f *Forest) buildGraphs() {
	f.Tree.graphs = nil
	if len(f.Names.Graphs.Values) == 1 {
		return
	}
	f.Tree.graphs = make(map[graphKey]string)
	type around struct{ operator, phase string } // "" if they differ
	all := make(map[string]around)               // by graph number
	for r := range f.Rows() {
		k := f.graphKey(r)
		if k.graph == 0 {
			continue
		}
		g := &f.Names.Graphs.Values[k.graph]
		f.Tree.graphs[k] = ""
		if g.ID == "" || !f.IsDeviceSide(r) {
			continue
		}
		here := around{f.LauncherName(r), f.Names.Marks.Values[f.Mark(r)].Phase}
		if a, known := all[g.ID]; known && a.operator != here.operator {
			here.operator = ""
		}
		if a, known := all[g.ID]; known && a.phase != here.phase {
			here.phase = ""
		}
		all[g.ID] = here
	}
	for k := range f.Tree.graphs {
		g := &f.Names.Graphs.Values[k.graph]
		f.Tree.graphs[k] = g.name(cmp.Or(k.around, all[g.ID].operator, all[g.ID].phase))
	}
}

func (g *Graph) name(around string) string {
	name := strings.TrimSuffix("CUDA graph "+g.ID, " ")
	if strings.HasPrefix(g.Call, "hip") {
		name = "HIP graph"
	}
	if around != "" {
		name += " (" + around + ")"
	}
	return name
}

// isHostOp reports whether row r is a host operation in the tree.
func (f *Forest) isHostOp(r int32) bool {
	return f.Flags(r)&(FlagOp|FlagHost|FlagDuplicate) == FlagOp|FlagHost
}

type process struct{ trace, of int32 }

// Processes returns a process number for each lane in Names.Lanes, by service and rank, or else host.
func (f *Forest) Processes() []int32 {
	type key struct {
		service, host string
		rank          op.Int
	}
	var numbers symbols.Table[key]
	of := make([]int32, len(f.Names.Lanes.Values))
	for i, lane := range f.Names.Lanes.Values {
		of[i] = numbers.ID(key{lane.Service, lane.Host, lane.Device.Rank})
	}
	return of
}

// buildLaunchers finds the results of [Forest.Launcher]. Tree.launcher has the rows named by span ids already.
func (f *Forest) buildLaunchers() {
	hosts := make(map[process][]int32)
	processes := f.Processes()
	some := false
	for r := range f.Rows() {
		if !f.isHostOp(r) {
			continue
		}
		some = true
		if f.Has(r, FlagStart) && f.Trace(r) != 0 && !f.IsLocal(r) {
			p := process{f.Trace(r), processes[f.Lane(r)]}
			hosts[p] = append(hosts[p], r)
		}
	}
	if !some {
		f.Tree.launcher = nil
		return
	}
	above := f.hostsAbove()
	launched := make(map[process][]int32)
	launcher := f.Tree.launcher
	if launcher == nil {
		launcher = noRows(f.Rows())
		f.Tree.launcher = launcher
	}
	for r := range f.Rows() {
		named := launcher[r]
		launcher[r] = NoRow
		switch {
		case f.Flags(r)&(FlagOp|FlagHost) != FlagOp:
		case named != NoRow && f.isHostOp(named):
			launcher[r] = named
		case above[r] != NoRow:
			launcher[r] = above[r]
		case f.Has(r, FlagLaunch):
			p := process{f.Trace(r), processes[f.Lane(r)]}
			if hosts[p] != nil {
				launched[p] = append(launched[p], r)
			}
		}
	}
	for p, rows := range launched {
		f.joinLaunches(rows, hosts[p])
	}
}

// hostsAbove returns the nearest host operation at or above each row.
func (f *Forest) hostsAbove() []int32 {
	above := noRows(f.Rows())
	for r := range f.Tree.TopDown() {
		if p := f.Tree.Parent[r]; f.isHostOp(r) {
			above[r] = r
		} else if p != NoRow {
			above[r] = above[p]
		}
	}
	return above
}

// joinLaunches assigns each operation the last host operation to start among the ones running at its launch.
//
//	host    |--- a ---------|
//	           |-- b --|
//	launch       ^ b     ^ a   ^ none
func (f *Forest) joinLaunches(rows, hosts []int32) {
	slices.SortFunc(rows, func(a, b int32) int {
		return cmp.Or(cmp.Compare(f.Launch(a), f.Launch(b)), cmp.Compare(a, b))
	})
	slices.SortFunc(hosts, func(a, b int32) int { // outer before inner
		return cmp.Or(
			cmp.Compare(f.Start(a), f.Start(b)), cmp.Compare(f.Duration(b), f.Duration(a)), f.compareTied(a, b),
		)
	})
	var open []int32
	next := 0
	for _, r := range rows {
		at := f.Launch(r)
		for ; next < len(hosts) && f.Start(hosts[next]) <= at; next++ {
			open = append(open, hosts[next])
		}
		// Ended operations stay below an earlier running one.
		for len(open) > 0 && f.End(open[len(open)-1]) <= at && f.Start(open[len(open)-1]) != at {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			f.Tree.launcher[r] = open[len(open)-1]
		}
	}
}
