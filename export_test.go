package optrace

// CacheHits returns how many of the last lookups in e's cache found something.
func CacheHits(e *Exporter) int { return e.enc.(interface{ CacheHits() int }).CacheHits() }

// SamplerIn returns the field sampler of a struct.
var SamplerIn = samplerIn
