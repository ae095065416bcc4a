package attrcache

// gate chooses how a cache compares sets, and bypasses the cache while its hit
// rate is low, with exponential backoff. It counts hits in windows of lookups
// and decides at the end of each.
type gate struct {
	lookups, hits int // in this window
	// sameMemory counts the hits by content that lookups by memory would have
	// had too.
	sameMemory int
	byContent  bool
	// mayCompare allows to compare by content.
	mayCompare bool

	windows    int // since the cache was emptied
	lowWindows int // in a row, with a low hit rate
	backoff    int // length of the last bypass, in windows
	skip       int // lookups still to be skipped
}

const (
	window       = 1 << 13 // lookups
	firstBackoff = 4       // windows
	maxBackoff   = 128     // windows
	minLife      = 64      // windows
)

// enter counts a lookup. It reports whether the cache is to be used, and
// whether a window ended, so that review must be called first.
func (g *gate) enter() (use, review bool) {
	if g.skip > 0 {
		g.skip--
		return false, false
	}
	if g.lookups == window {
		return true, true
	}
	g.lookups++
	return true, false
}

// open reports whether lookups are worthwhile at present.
func (g *gate) open() bool { return g.skip == 0 }

// review ends a window and reports whether the cache must be emptied: because
// it is used in another way from now on, or because it is full and has had a
// fair hit rate only for long.
func (g *gate) review(full bool) (empty bool) {
	hits, same := g.hits, g.sameMemory
	g.lookups, g.hits, g.sameMemory = 1, 0, 0
	g.windows++
	if hits >= window/4 {
		g.lowWindows, g.backoff = 0, 0
		if g.byContent && same >= hits-hits/8 {
			return g.restart(false)
		}
		if full && hits < window*3/4 && g.windows >= minLife {
			return g.restart(g.byContent)
		}
		return false
	}
	if g.lowWindows++; g.lowWindows < 2 {
		return false
	}
	if g.mayCompare && !g.byContent {
		return g.restart(true)
	}
	g.backoff = min(max(firstBackoff, 2*g.backoff), maxBackoff)
	g.skip = g.backoff * window
	return g.restart(false)
}

func (g *gate) restart(byContent bool) (empty bool) {
	g.byContent, g.windows, g.lowWindows = byContent, 0, 0
	return true
}
