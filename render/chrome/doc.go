// Package chrome writes operations in the JSON trace event format, which
// ui.perfetto.dev and chrome://tracing show as a timeline.
//
// Every device of a rank is a process, and so is every service with its spans
// that are not operations. The streams of a device are threads. The format does
// not allow events that overlap on a thread without nesting; such operations are
// divided among several threads. Arrows lead from a span to the operations that
// it caused, and along links.
//
// Times are in microseconds with three decimal places, relative to
// baseTimeNanoseconds, because a double cannot hold a Unix time to the
// nanosecond. Operations without a start follow one another.
//
// The arguments of an event are the attributes of the convention and what it has
// none for, so that the operations and spans read back as they were, in another
// order; only spans without an id are not read. The format has no place for
// resources, gaps and batches.
//
// A [Timeline] holds an event for each operation until it is written. Package
// ingest/kineto reads the format.
package chrome
