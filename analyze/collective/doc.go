// Package collective joins the operations that are one collective on several devices: by name,
// group and sequence number, or by their order where there is none.
//
// [FindJoins] tells which operations belong together, [Joins.Rows] sums them up with waiting times and
// stragglers, and [Joins.Lateness] says which devices came last. Package clocks compares the clocks of ranks by when
// collectives end, and package path lets a device that came last hold up the others.
package collective
