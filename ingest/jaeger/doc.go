// Package jaeger reads traces from Jaeger: from a running one with a [Client],
// and from files.
//
// [Records] reads what Jaeger's query service answers on /api/traces and what
// its page downloads: the JSON of API version 1. The answers of version 3 are
// OTLP, see package otlp.
//
// Version 1 is lossy. Lists and maps are text, times are microseconds, and of
// links little is left. What can be recovered is: a list in a text is read as
// one, large integers come back from their strings, and the parent from the
// references. A start of 0 is not known, and placeholder ids stand for none, as
// in package otlp. Every entry is marked with [op.WarnMicroseconds].
package jaeger
