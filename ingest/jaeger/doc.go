// Package jaeger reads traces from Jaeger: from a running one with a [Client], and from files.
//
// [Records] reads the answers of Jaeger's query service on /api/traces and the downloads of its page: the JSON of API
// version 1. The answers of version 3 are OTLP, see package otlp.
//
// Version 1 is lossy. Lists and maps are text, times are microseconds, and links have no attributes. The reader
// recovers lists from their text, large integers from their strings, and parent and links from the references. A start
// of 0 is not known, and placeholder ids stand for none, as in package otlp. Every entry is marked with
// [op.WarnMicroseconds].
package jaeger
