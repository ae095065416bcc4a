package optrace

// Version is the version of this module, also that of the instrumentation
// scope of a [Tracer].
const Version = "0.1.0"

// ScopeName is the instrumentation scope of a [Tracer].
const ScopeName = "github.com/optrace/optrace"
