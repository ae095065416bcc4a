// Package otlp writes operations as OTLP JSON Lines: a batch of spans on each line. The Jaeger UI accepts it as an
// upload, and every OTLP/HTTP endpoint as a body.
//
// Fields of an entry unknown to OTLP are written as attributes, so that a file reads back to the same report. Gap and
// batch records are not written. An operation without ids gets placeholders; readers recognise them.
//
// A [Writer] holds one batch. Package ingest/otlp reads the format; the exporter encodes SDK spans itself.
package otlp
