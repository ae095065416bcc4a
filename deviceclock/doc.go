// Package deviceclock converts the times of a device to Unix time.
//
// An accelerator stamps its events with its own clock. This clock starts anywhere, runs a little faster or slower than
// the host's, and may be set. A [Clock] learns it from pairs: readings of the device's clock between two readings of
// the host's. A pair every tenth of a second is a good interval. The Clock builds a piecewise linear map and states an
// error bound for each converted time.
//
// # The bound
//
// The bound is exact, not an estimate. The device's clock was read at some time between the host's two readings. From
// there the two clocks drift apart by at most [Config].MaxDrift, and between two pairs by at most the drift of the
// pairs plus [Config].Wander. The times consistent with the pairs on both sides form an interval. The returned time
// lies in this interval, and the bound reaches its farther end. It holds if
//
//   - the host's readings enclose the device's reading
//   - the clocks drift apart by at most MaxDrift, and between two pairs the drift changes by at most Wander
//   - a step is larger than the uncertainty of the pairs around it, and at most one step occurs between two pairs
//   - the time is settled: a later pair exists. Beyond the last pair the Clock extrapolates, and the bound grows with
//     the distance
//
// # Bad pairs
//
// The Clock skips a slow pair if the pair before gives a tighter bound. A pair that contradicts the one before is an
// outlier, unless the next pair agrees with it: then the clock was set or restarted in between, and the Clock forgets
// the earlier pairs. It then refuses times that may be earlier. [Stats] counts all of these.
//
// The Clock keeps the last 1,024 pairs. The package imports the standard library only. The Queue of package optrace uses it.
package deviceclock
