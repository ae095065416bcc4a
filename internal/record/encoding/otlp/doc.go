// Package otlp writes operations, and the spans above them, as OTLP spans: in JSON, a TracesData object per line, and
// in protocol buffers, a length before each message. The bytes equal those of OpenTelemetry's own exporters.
//
// It holds the two codecs, their encoder and its template cache. The batch groups spans by scope, and span.Data.Clean
// removes parts that backends cannot process. The sink has files and compression.
package otlp
