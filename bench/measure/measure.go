package measure

// Measure compares two sides of a suite.
type Measure struct {
	Name string
	// What says what is compared, in a few words.
	What string
	// Suite holds the sides Peer and Ours.
	Suite      *Suite
	Peer, Ours string
	// Wall tells that the cost is the time that passes, not the processors' time.
	Wall bool
	// Target is what the ratio should reach; 0 for a figure without a target.
	Target float64
	// Allocs, where it is set, bounds the allocations of our side.
	Allocs *AllocTarget
	// LongOnly leaves the measure out of quick runs.
	LongOnly bool
}

// AllocTarget bounds allocations.
type AllocTarget struct {
	// Per is how many units of the suite the bound is for, and PerName their
	// name, such as 512 and "batch".
	Per     float64
	PerName string
	// Max is the bound; with Extra it is for what we allocate beyond the peer.
	Max   float64
	Extra bool
}

// Result is the outcome of a Measure.
type Result struct {
	Measure
	Ratio Ratio
	// Peer and Ours are the medians of the costs, in nanoseconds per unit.
	PeerNS, OursNS float64
	// PeerAllocs and OursAllocs are allocations per unit, or per AllocTarget.Per
	// of them, of the round with the fewest.
	PeerAllocs, OursAllocs float64
}

// Met reports whether the ratio reaches its target.
func (r Result) Met() bool { return r.Ratio.Median >= r.Target }

// AllocsMet reports whether the allocations stay within their bound, to a
// hundredth: a buffer that grows once is not an allocation per operation.
func (r Result) AllocsMet() bool {
	if r.Allocs == nil {
		return true
	}
	const rounding = 0.005
	n := r.OursAllocs
	if r.Allocs.Extra {
		n -= r.PeerAllocs
	}
	return n < r.Allocs.Max+rounding
}

// newResult compares the samples of two sides.
func newResult(m Measure, peer, ours []Sample) Result {
	r := Result{Measure: m}
	p, o := m.costs(peer), m.costs(ours)
	r.Ratio = Summarise(Ratios(p, o))
	r.PeerNS, r.OursNS = Median(p), Median(o)
	per := 1.0
	if m.Allocs != nil {
		per = m.Allocs.Per
	}
	r.PeerAllocs, r.OursAllocs = per*fewestAllocs(peer), per*fewestAllocs(ours)
	return r
}

// costs returns the nanoseconds per unit of each sample.
func (m *Measure) costs(samples []Sample) []float64 {
	costs := make([]float64, len(samples))
	for i, x := range samples {
		t := x.CPU
		if m.Wall {
			t = x.Wall
		}
		costs[i] = float64(t.Nanoseconds()) / float64(x.N)
	}
	return costs
}

// fewestAllocs returns allocations per unit. The fewest are the work's own: more
// come from the runtime and from buffers that grow.
func fewestAllocs(samples []Sample) float64 {
	fewest := 0.0
	for i, s := range samples {
		if n := float64(s.Allocs) / float64(s.N); i == 0 || n < fewest {
			fewest = n
		}
	}
	return fewest
}
