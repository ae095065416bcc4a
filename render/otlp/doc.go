// Package otlp writes operations as OTLP JSON Lines: a batch of spans on each
// line, which the Jaeger UI accepts as an upload and every OTLP/HTTP endpoint as
// a body.
//
// Fields of an entry that OTLP does not have are written as attributes, so that a
// file reads back to the same report. Gap and batch records are not written. An
// operation without ids gets placeholders that readers recognise.
//
// A [Writer] holds one batch. Package ingest/otlp reads the format; the exporter
// encodes SDK spans itself.
package otlp
