// Package timeline says what ran when: the self time of operations, the parts of the time of
// a device ([Parts]), its idle gaps with their causes ([Idle]), and its use, concurrency and
// memory over time ([UseOf], [Concurrency], [MemoryOf]).
//
// Lengths are those of unions of intervals: what runs at once counts once. Repeats of
// operations and the host's views of them take no part in the time of a device.
package timeline
