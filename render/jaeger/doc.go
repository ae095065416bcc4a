// Package jaeger writes operations as the JSON of Jaeger's API version 1, which
// is what the Jaeger UI downloads and takes as an upload.
//
// The format is lossy: times are whole microseconds, start and duration each
// rounded down, and lists are JSON text in string tags. OTLP keeps more, see
// package otlp. The rest of an entry stands in tags and reads back; gap and
// batch records have no place, and an operation without ids gets a placeholder
// that readers know as such.
package jaeger
