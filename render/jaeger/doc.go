// Package jaeger writes operations as the JSON of Jaeger's API version 1, which
// the Jaeger UI downloads and accepts as an upload.
//
// The format is lossy: times are whole microseconds, start and duration each
// rounded down, and lists are JSON text in string tags. Links have no
// weights, and of a span without a parent the first link within its trace reads back
// as the parent. Package otlp writes a format that keeps more. The other fields of an entry are written as tags and
// read back. Gap and batch records are not written. An operation without ids
// gets placeholders that readers recognise.
//
// A [Traces] holds the text of all spans until it is written. Package
// ingest/jaeger reads the format.
package jaeger
