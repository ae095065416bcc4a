// Package steps divides operations into the iterations of loops, by their step numbers.
//
// An iteration is the operations of one step on all devices of a service. [Rows] sums them up, and [Find] finds the
// iteration of a node. A repeated number, in another request or after a restart, is another iteration.
package steps
