// Package launch analyses operations that run on a device behind the host: the waiting time from launch to start, the
// number of waiting operations, the causes of idle streams, and the critical path across host and devices.
//
// It needs launch times. Without them it has no result.
package launch
