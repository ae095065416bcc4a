// Package otlp writes operations as OTLP JSON Lines: a batch of spans on each
// line, which the Jaeger UI takes as an upload and every OTLP/HTTP endpoint as
// a body.
//
// What an entry says and OTLP has no field for stands in attributes, so that a
// file reads back to the same report. Gap and batch records have no place, and
// an operation without ids gets a placeholder that readers know as such.
package otlp
