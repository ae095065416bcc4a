// Package chrome writes operations in the JSON trace event format, for ui.perfetto.dev and chrome://tracing.
//
// Every device of a rank is a process, and so is every service with its spans that are not operations. The streams of a
// device are threads. On a thread, the format does not allow overlap without nesting; such operations are divided among
// several threads. Arrows lead from a span to the operations it caused, and along links.
//
// Times are in microseconds with three decimal places, relative to baseTimeNanoseconds, because a double cannot hold a
// Unix time to the nanosecond. Operations without a start follow one another.
//
// The arguments of an event are the attributes of the convention and further fields, so that operations and spans read
// back unchanged, in another order; only spans without an id are not read. The format has no place for resources, gaps
// and batches.
//
// A [Timeline] holds an event for each operation until it is written. Package ingest/kineto reads the format.
package chrome
