// Package stacks sums up operations by stack: their ancestors from the root down, with the device in front of its first
// operation.
//
// Every output with stacks is made from a [Table]: collapsed stacks, written by this package, and pprof, written by
// render/pprof. [Of] fills one with the operations of a forest. Tables merge in any order with the same result.
//
// A table is bounded. Beyond its limits it drops requests, then shapes, then stacks. Rows called [Other] keep the
// values of dropped rows, so sums stay correct.
package stacks
