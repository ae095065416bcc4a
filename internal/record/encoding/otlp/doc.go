// Package otlp writes operations, and the spans above them, as OTLP spans: in JSON,
// a TracesData object per line, and in protocol buffers with a length before each
// message. The bytes are those of OpenTelemetry's own exporters.
//
// It holds the two codecs, the encoder that they share, and its template cache.
// Spans are grouped by scope in the batch; parts that backends cannot process are
// removed by span.Data.Clean. Files and compression are the sink's.
package otlp
