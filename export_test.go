package optrace

// CacheHits returns how many of the last lookups in e's cache found something.
func CacheHits(e *Exporter) int { return e.enc.(interface{ CacheHits() int }).CacheHits() }

// SamplerIn returns the field sampler of a struct.
var SamplerIn = samplerIn

// ForgetEarlyTimes lets the next time before the year 2000 be told of.
func ForgetEarlyTimes() { earlyReported.Store(false) }

// FinishElsewhere leaves r as a Finish of another goroutine may while r begins or ends an operation.
func FinishElsewhere(r *Recorder) { r.ops, r.outputs = nil, nil }
