// Package chrome writes operations in the JSON trace event format, which
// ui.perfetto.dev and chrome://tracing show as a timeline.
//
// Every device, per rank, is a process, and so is every service with the spans
// that are no operations. The streams of a device are threads; where operations
// overlap on one without nesting, which the format forbids, they are divided
// among several. Arrows lead from a span to the operations that it caused.
//
// Times are in microseconds with the nanoseconds behind the point, counted from
// baseTimeNanoseconds, because a double holds no Unix time to the nanosecond.
// Operations without a start stand one behind the other.
package chrome
