// Package collective joins the operations of one collective on several devices: by name, group and sequence number, or
// by their order without a number.
//
// [FindJoins] joins the operations, [Joins.Rows] sums them up with waiting times and stragglers, and [Joins.Lateness]
// finds the last devices to arrive. Package clocks compares clocks by the ends of collectives. In package path, a late
// device holds up the others.
package collective
