// Package launch is about operations that run on a device behind the host: how long they wait
// from their launch to their start, how many wait at once, why a stream has nothing to do, and
// the critical path across host and devices.
//
// It needs the launch times of operations, and is nothing where none is known.
package launch
