// Package otlp reads spans from OTLP: JSON as one object, as JSON Lines or pretty-printed, protobuf as one TracesData
// message, and the length-prefixed frames of the Collector's file exporter, which may be compressed.
//
// Every encoding gives the same records: a Resource in front of the spans of each resource, an Entry for a span that is
// an operation, a Span for any other, and a count of the messages of other signals. Events are skipped. Package spans
// below this one makes the records; here is how they are found.
//
// Memory is bounded by the largest span, for protobuf by the largest batch, and by the limits of this package. Files,
// formats and compression of whole files are package ingest's concern.
package otlp
