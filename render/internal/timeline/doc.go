// Package timeline is shared by the timeline formats, render/chrome and render/perfetto: events of operations and
// spans, tracks, flows, arguments, and counters.
//
// A format encodes the arguments of each added event, and writes the events at the end. Packages ingest/kineto and
// ingest/perfetto read the arguments back.
package timeline
