// Package pprof writes the operations of a run as a profile of pprof, which
// go tool pprof shows and compares, and profile stores take.
//
// A sample is a row of a stacks.Table: a stack of names, from the request down to
// the operation, with the labels device, kind, shape and request, and trace_id and
// span_id for the span of the request. Its values are sums over the operations
// that end in this stack:
//
//   - count: how many there are
//   - time, the default: their durations, each without the durations of the
//     operations directly below it, and not below 0
//   - self: their self times, that is without the time that operations below cover
//   - bytes, flops: what they state; FLOPs that they do not state follow from their shapes
//
// pprof adds up the samples below a frame for its cumulative value. That of time is
// then the duration of the operation, not that and the durations of what is nested in
// it; where the operations below it ran at the same time as one another, or beyond its
// end, it is at least their sum. The flat value of self is that of reports.
//
// Functions and locations stand for names; there are no addresses, lines or files.
// What is not in the profile is told by its comments. The profile is built in
// memory, which the limits of the table bound.
package pprof
