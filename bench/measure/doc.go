// Package measure runs pieces of work beside one another and says how their
// costs compare.
//
// A machine's speed drifts, and other programs run on it. So what is to be
// compared runs in turns, in short rounds; each round gives one ratio, and the
// median of the ratios is the result. A [Suite] is a set of sides that run in
// the same rounds, a [Measure] compares two of them.
package measure
