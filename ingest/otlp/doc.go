// Package otlp reads spans from OTLP: JSON as one object, as JSON Lines or
// pretty-printed, protobuf as one TracesData message, and the length-prefixed
// frames of the Collector's file exporter, which may be compressed.
//
// Every encoding gives the same records: a Resource in front of the spans of
// each resource, an Entry for a span that is an operation, a Span for any
// other, and a count of the messages of other signals. Events are
// skipped. The mapping from attributes to fields is [attrmap.Builder]'s; the
// attributes go straight into it, without messages in between.
//
// Each encoding has two readers of spans. The canonical one (json_canonical.go,
// proto_canonical.go) reads spans encoded as known programs encode them, in one
// pass. Any other span is read by the general one (json_span.go,
// proto_span.go), which accepts everything that the specification does and
// reports errors. Tests and fuzz targets hold the two against each other.
//
// Memory is bounded by the largest span, for protobuf by the largest batch, and
// by the limits of this package. Files, formats and compression of whole files
// are package ingest's concern.
package otlp
