// Package otlp reads spans from OTLP: JSON as one object, as JSON Lines or
// pretty-printed, protobuf as one TracesData message, and the length-prefixed
// frames that the Collector's file exporter writes, each of which may be
// compressed.
//
// The bytes go straight into an [op.Builder]; there are no intermediate
// messages. Reading streams: memory is bounded by the largest span, for
// protobuf by the largest batch, and by the limits of this package.
//
// Every framing gives the same records: a Resource in front of the spans of
// each resource, an Entry for a span that is an operation, a Span for any
// other, and a count of what belongs to other signals. Events and links are
// passed over.
package otlp
