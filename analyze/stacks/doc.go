// Package stacks adds up operations by stack: the spans and operations that they
// lie below, from the root down, with the device in front of the first operation
// on it.
//
// A [Table] is behind every output that shows stacks: collapsed stacks, which
// this package writes, and pprof, which render/pprof writes. [Of] fills one with the
// operations of a forest. Tables of several inputs merge, in any order and with the
// same result.
//
// A table is bounded. Beyond its limits it gives up requests, then shapes, and then
// stacks; what their operations took is kept in rows that are called [Other], so that
// sums stay what they are.
package stacks
