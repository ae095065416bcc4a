package optrace

// Discard forgets what r has recorded.
func (r *Recorder) Discard() {
	r.End()
	r.empty()
}

// SetCacheBytes empties e's cache of attribute sets and bounds it; 0 turns it
// off.
func SetCacheBytes(e *Exporter, n int) { e.enc = e.format.NewEncoder(e.cfg.mapping, n) }

// CacheHits returns how many of the last lookups in e's cache found something.
func CacheHits(e *Exporter) int { return e.enc.(interface{ CacheHits() int }).CacheHits() }
