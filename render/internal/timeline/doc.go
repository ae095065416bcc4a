// Package timeline holds what the formats of timelines, render/chrome and
// render/perfetto, share: which events there are of operations and spans, on which
// tracks they lie, what leads from one to another, what their arguments are, and
// what is counted over time.
//
// A format encodes the arguments of an event as it is added, and writes the events
// in the end. Packages ingest/kineto and ingest/perfetto read the arguments back.
package timeline
