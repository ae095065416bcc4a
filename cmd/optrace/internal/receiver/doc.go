// Package receiver takes spans from OpenTelemetry SDKs and Collectors by OTLP, over HTTP
// and gRPC, into a window of operations.
//
// Requests are read by ingest/otlp, whose readers make no messages of what they read. A
// request is at most [MaxRequestBytes] large, before and after decompression, and
// [MaxRequests] are read at a time; more of them are told to come again. A span that cannot be read is
// counted in the window and in the answer; traces are the only signal.
//
// Only the command imports this package, and gRPC with it.
package receiver
