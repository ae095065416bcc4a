package attrcache

// gate bypasses a cache with a low hit rate, with exponential backoff.
type gate struct {
	lookups, hits int // in this window

	windows    int // since the cache was emptied
	lowWindows int // in a row, with a low hit rate
	backoff    int // length of the last bypass, in windows
	skip       int // lookups left to skip
}

const (
	window       = 1 << 13 // lookups
	firstBackoff = 4       // windows
	maxBackoff   = 128     // windows
	minLife      = 64      // windows
)

// enter counts a lookup. It reports whether to use the cache, and whether to call review first.
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

// review ends a window and reports whether to empty the cache: at a bypass, or when full and only fairly useful.
func (g *gate) review(full bool) (empty bool) {
	hits := g.hits
	g.lookups = 1
	g.hits = 0
	g.windows++
	if hits >= window/4 {
		g.lowWindows = 0
		g.backoff = 0
		empty = full && hits < window*3/4 && g.windows >= minLife
	} else if g.lowWindows++; g.lowWindows >= 2 {
		g.backoff = min(max(firstBackoff, 2*g.backoff), maxBackoff)
		g.skip = g.backoff * window
		empty = true
	}
	if empty {
		g.windows = 0
		g.lowWindows = 0
	}
	return empty
}
