// Package work says what operations computed and moved: FLOPs as they were recorded or follow
// from shapes (package flops), bytes as they follow from shapes and element types, and the
// least time that both take on the device by its peaks (package peaks).
//
// A [Finder] finds the [Work] of an operation, [Sums] adds it up, and [Figures] are what a
// report says of it.
package work
