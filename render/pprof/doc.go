// Package pprof writes the operations of a run as a pprof profile, for go tool pprof and profile stores.
//
// A sample is a row of a stacks.Table: a stack of names, from the request down to the operation, with the labels
// device, kind, shape and request, and trace_id and span_id of the request's span. Its values are sums over the
// operations that end in this stack:
//
//   - count: the number of operations
//   - time, the default: their durations, each without the durations of the operations directly below it, at least 0
//   - self: their self times, without the time covered by operations below
//   - bytes, flops: as stated; unstated FLOPs follow from shapes
//
// The cumulative value of a frame in pprof is the sum of the samples below. For time this is the duration of the
// operation; it is larger if operations below ran in parallel or beyond its end. The flat value of self is the self
// time of reports.
//
// Functions and locations stand for names; there are no addresses, lines or files. Comments list omitted data. The
// profile is built in memory, bounded by the limits of the table.
package pprof
