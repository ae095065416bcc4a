// Package jaeger reads traces from a running Jaeger, with a [Client], and from files.
//
// [Records] reads version 1 of Jaeger's API: answers of /api/traces, downloads of its page, and the traces in them
// alone. Answers of version 3 are OTLP, see package otlp.
//
// Version 1 is lossy. Lists and maps are text, times are microseconds, and links have no attributes. The reader
// recovers lists from their text, large integers from their strings, and parents and links from references. As in
// package otlp, a start of 0 is unknown and placeholder ids are no ids. Every entry has [op.WarnMicroseconds].
package jaeger
