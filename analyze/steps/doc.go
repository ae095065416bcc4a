// Package steps divides operations into the iterations of loops, by the step that they state.
//
// An iteration is the operations of one step on all devices of a service: [Rows] sums them up,
// and [Find] tells which iteration a node belongs to. A number that comes again, in another
// request or after a restart, is another iteration.
package steps
