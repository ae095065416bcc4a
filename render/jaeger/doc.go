// Package jaeger writes operations as JSON of Jaeger's API version 1, as the Jaeger UI downloads and uploads it.
//
// The format is lossy: times are whole microseconds, start and duration each rounded down, and lists are JSON text in
// string tags. Links have no weights, and the first link within the trace of a span without a parent reads back as its
// parent. Package otlp writes a format that keeps more. Other fields of an entry are written as tags and read back. Gap
// and batch records are not written. An operation without ids gets placeholders; readers recognise them.
//
// A [Traces] holds the text of all spans until it is written. Package ingest/jaeger reads the format.
package jaeger
