// Package perfetto writes operations as a trace in Perfetto's own format, the TrackEvents of perfetto.protos.Trace, for
// ui.perfetto.dev and trace_processor.
//
// Every rank is a process, and so is every service with its spans that are not operations. Below a rank there is a
// track for each stream of each device. Slices of a track nest, so operations that overlap on a stream without nesting
// are divided among several tracks. Flows lead from a span to the operations it caused, along the links of operations
// and spans, and from the launch of an operation, a mark on its own track, to the operation. Counters show the memory
// of running operations on a device, as far as it is stated, and the device's utilisation.
//
// Times are Unix nanoseconds: a snapshot relates the clock of the trace to real time. Operations without a start follow
// one another from the first known start. A slice has at most 4,096 flows in each direction.
//
// The debug annotations of a slice are the arguments of render/chrome, so that operations and spans read back
// unchanged, in another order; only spans without an id are not read. An annotation without a value is unknown. Names,
// categories and the names of annotations are interned, in front of the events.
//
// A [Timeline] holds an event for each operation until it is written. Package ingest/perfetto reads the format.
package perfetto
