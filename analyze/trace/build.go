package trace

// Build joins the spans to a tree and orders what ran on each device, unless
// nothing was added since. Every analysis calls it.
func (f *Forest) Build() {
	if f.built.Load() {
		return
	}
	f.building.Lock()
	defer f.building.Unlock()
	if f.built.Load() {
		return
	}
	for _, build := range []func(){f.buildTree, f.buildLaunchers, f.buildGraphs, f.buildExecutions} {
		if build(); f.Ended() {
			break
		}
	}
	f.built.Store(true)
}

// Structure returns the counts.
func (f *Forest) Structure() Counts {
	f.Build()
	return f.Counts
}
