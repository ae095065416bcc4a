// Package deviceclock maps the times of a device to Unix time.
//
// An accelerator stamps its events with a clock of its own, which starts anywhere, runs
// a little faster or slower than the host's, and may be set. A [Clock] learns of it from
// pairs: the device's clock read between two readings of the host's. From pairs taken at
// intervals, a tenth of a second is a good one, it makes a piecewise linear map, and for
// each time that it maps it states by how much it may be off at most.
//
// # The bound
//
// The bound is no estimate. The device's clock was read at some time between the host's
// two readings; from there on the two run apart by at most [Config].MaxDrift, and
// between two pairs by no more than what these show and [Config].Wander. What agrees
// with the pairs on both sides is an interval; the time that is returned lies within it,
// and the bound reaches to its farther end. It holds as long as
//
//   - the host's readings stand around that of the device
//   - the clocks drift apart by no more than MaxDrift, and within the time between two
//     pairs the drift changes by no more than Wander
//   - a step is larger than what the pairs around it leave open, and there is at most one
//     between two pairs that are taken
//   - the time is settled: a pair was taken after it. What lies behind the last pair is
//     extrapolated, and the bound grows with the distance
//
// # Bad pairs
//
// A pair that took long says little: what follows from the pair before says more, and it
// is passed over. A pair that contradicts the one before is an outlier, unless the next
// pair agrees with it: then the clock was set, or started again, between the two, and the
// pairs from before are forgotten. A time that may lie before that is not known any more.
// All of these are counted.
//
// The package knows nothing of operations and imports the standard library only; the
// Queue of package optrace uses it. It keeps the last 1,024 pairs.
package deviceclock
