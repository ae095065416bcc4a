// Package timeline describes operations over time: their self time, the parts of a device's time ([Parts]), its idle
// gaps with causes ([Idle]), and its use, concurrency and memory ([UseOf], [Concurrency], [MemoryOf]).
//
// Lengths are lengths of unions of intervals: simultaneous work counts once. Repeated operations and the host's views
// do not count for devices.
package timeline
