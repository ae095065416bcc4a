// Package workload makes the spans that the comparisons of this module are
// measured on: the tensor operations of training steps, with the spans of the
// layers and steps above them.
//
// A graph of 2,000 operations of 40 kinds in 100 layers is run again and again
// on each of 8 devices. Everything follows from [Config] alone: the same
// configuration gives the same spans.
package workload
