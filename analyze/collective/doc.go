// Package collective joins the operations that are one collective on several devices: by name,
// group and sequence number, or by their order where there is none.
//
// [Rows] sums them up with waiting times and stragglers, [FindJoins] tells which operations
// belong together, and [Nodes] yields them. Package clocks compares the clocks of ranks by when
// collectives end, and package path lets a device that came last hold up the others.
package collective
