// Package perfetto writes operations as a trace of Perfetto in its own format, the
// TrackEvents of perfetto.protos.Trace, which ui.perfetto.dev and trace_processor open.
//
// Every rank is a process, and so is every service with its spans that are not
// operations. Below a rank there is a track for each stream of each device; operations
// that overlap on a stream without nesting are divided among several tracks, since on a
// track slices nest. Flows lead from a span to the operations that it caused, along the
// links of operations and spans, and from the launch of an operation, a mark on a track
// of its own, to the operation. Counters show the memory of the operations that run on a
// device, as far as they state it, and how much of the time any ran.
//
// Times are in Unix nanoseconds: the clock of the trace, which a snapshot relates to
// real time, is the same. Operations without a start follow one another from the first
// start of the others. A slice has at most 4,096 flows of each direction.
//
// The debug annotations of a slice are the arguments that render/chrome writes, so that
// operations and spans read back as they were, in another order; only spans without an
// id are not read. An annotation without a value stands for what is not known. Names,
// categories and the names of annotations are interned, in front of the events.
//
// A [Timeline] holds an event for each operation until it is written. Package
// ingest/perfetto reads the format.
package perfetto
