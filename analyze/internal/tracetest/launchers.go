package tracetest

import (
	"cmp"
	"slices"
)

// LaunchedBy returns s with the name and span id of its launching operator.
func (s Spec) LaunchedBy(name string, id uint64) Spec {
	s.Launcher = name
	s.LauncherID = id
	return s
}

// isHostOp reports whether spec i is a host operation in the tree.
func (n *NaiveTree) isHostOp(i int) bool {
	return n.Specs[i].IsOp && !n.Specs[i].DeviceSide() && !n.Duplicate[i]
}

// Launcher returns the launching host operation of spec i, or -1.
func (n *NaiveTree) Launcher(i int) int {
	s := n.Specs[i]
	if !s.DeviceSide() {
		return -1
	}
	if named := n.LookUp(s.Trace, s.LauncherID); named >= 0 && n.isHostOp(named) {
		return named
	}
	if host := n.nearest(n.Parent[i], n.isHostOp); host >= 0 {
		return host
	}
	best := -1
	for h, host := range n.Specs {
		if !s.Launch.Known || s.Trace == 0 || !n.isHostOp(h) || host.Timeless || host.Trace != s.Trace ||
			host.Service != s.Service ||
			host.Rank != s.Rank || host.Start > s.Launch.V || host.End <= s.Launch.V && host.Start != s.Launch.V {
			continue
		}
		if best >= 0 {
			b := n.Specs[best]
			if host.Start < b.Start || host.Start == b.Start &&
				(host.End > b.End || host.End == b.End && n.CompareStart(h, best) < 0) {
				continue
			}
		}
		best = h
	}
	return best
}

// LauncherName returns the name of the launching operator of spec i, "" if unknown.
func (n *NaiveTree) LauncherName(i int) string {
	if host := n.Launcher(i); host >= 0 {
		return n.Specs[host].Name
	}
	return n.Specs[i].Launcher
}

// LaunchName returns the name of the launching CUDA graph of spec i, or else of the operator.
func (n *NaiveTree) LaunchName(i int) string {
	if n.Specs[i].Graph == "" {
		return n.LauncherName(i)
	}
	name := "CUDA graph " + n.Specs[i].Graph
	alike := func(j int) bool {
		return n.Specs[j].DeviceSide() && !n.Repeat[j] && n.Specs[j].Graph == n.Specs[i].Graph
	}
	if n.Specs[i].Graph == "?" {
		name = "CUDA graph"
		alike = func(j int) bool { return i == j }
	}
	common := func(text func(j int) string) string {
		var found []string
		for j := range n.Specs {
			if alike(j) {
				found = append(found, text(j))
			}
		}
		if slices.Sort(found); len(slices.Compact(found)) == 1 {
			return found[0]
		}
		return ""
	}
	around := cmp.Or(common(n.LauncherName), common(func(j int) string { return n.Specs[j].Phase }))
	if around == "" {
		return name
	}
	return name + " (" + around + ")"
}

// StackParent returns the parent of spec i in its stack.
func (n *NaiveTree) StackParent(i int) int {
	host := n.Launcher(i)
	if host < 0 || n.Duplicate[i] || !n.IsOutermost(host) || !n.IsOutermost(i) || n.isWithin(n.Parent[i], host) {
		return n.Parent[i]
	}
	return host
}

// IsOutermost reports whether spec i has no device operation above.
func (n *NaiveTree) IsOutermost(i int) bool {
	return n.nearest(n.Parent[i], func(at int) bool { return n.Specs[at].DeviceSide() }) < 0
}
