// Package receiver takes spans from OpenTelemetry SDKs and Collectors by OTLP, over HTTP and gRPC, into a window of
// operations.
//
// Package ingest/otlp reads the requests without building messages. A request has at most [MaxRequestBytes], before and
// after decompression, and [MaxRequests] are read at a time; further clients are told to retry. Unreadable spans are
// counted in the window and in the answer; traces are the only signal.
//
// Only the command imports this package, and gRPC with it.
package receiver
