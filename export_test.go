package optrace

// CacheHits returns the number of hits among the last lookups in e's cache.
func CacheHits(e *Exporter) int { return e.enc.(interface{ CacheHits() int }).CacheHits() }

// SamplerIn returns the field sampler of a struct.
var SamplerIn = samplerIn

// ForgetEarlyTimes allows another report of a time before the year 2000.
func ForgetEarlyTimes() { earlyReported.Store(false) }

// FinishElsewhere leaves r in the state of a Finish by another goroutine during a call.
func FinishElsewhere(r *Recorder) { r.ops, r.outputs = nil, nil }
