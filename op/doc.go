// Package op is the model of optrace: recorded tensor operations, independent of
// their source and of their use. Its files are in four groups:
//
//   - The model. An [Entry] describes one finished operation. A [Span] is a span
//     that is not an operation but is needed for the structure around it, such as
//     the request that caused the operations. A [Record] is either of them, or
//     something that a file says of itself.
//   - The mapping from attributes (attr_*.go). A [Builder] makes entries from the
//     attributes of spans. It is the only mapping from attribute keys to fields:
//     the OTel exporter, the file readers and the Collector components feed it.
//   - The entries format (entries_*.go), which is JSON Lines: [Writer] and [Reader].
//   - The seed format (seed_*.go), one JSON document, for compatibility with the
//     recorder that this project started from: [Trace] and [ReadTrace].
//
// Other formats are read in package ingest and written in package render. The
// package uses the standard library only. Times are Unix nanoseconds, durations
// nanoseconds, both int64, and sizes are bytes. An unknown number is an [Int] that is
// not Known, an unknown shape is nil, an unknown text is empty.
package op
