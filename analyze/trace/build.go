package trace

// Build links the spans to a tree and sorts the operations of each device. It does nothing if no record was added since
// the last call. Every analysis calls it.
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

// Structure builds f and returns its counts.
func (f *Forest) Structure() Counts {
	f.Build()
	return f.Counts
}
