// Package otlp reads spans from OTLP: JSON (one object, JSON Lines or pretty-printed), one TracesData message in
// protobuf, and the length-prefixed frames of the Collector's file exporter, also compressed ones.
//
// Every encoding gives the same records: a Resource in front of the spans of each resource, an Entry for an operation,
// a Span for any other span, and a count of the messages of other signals. Package spans below this one makes the
// records; this package finds the messages.
//
// Memory is bounded by the largest span, for protobuf by the largest batch, and by the limits of this package. Package
// ingest handles files, formats and compression of whole files.
package otlp
