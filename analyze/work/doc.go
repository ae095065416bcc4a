// Package work tells how much operations computed and moved: FLOPs, recorded or derived from shapes (package flops),
// bytes from shapes and element types, and the least time for both by the peaks of the device (package peaks).
//
// A [Finder] finds the [Work] of an operation, [Sums] adds it up, and [Figures] are the figures in a report.
package work
