// Package op is the model of optrace: recorded tensor operations, independent of
// their source and of their use. An [Entry] describes one finished operation. A [Span] is
// a span that is not an operation but is needed for the structure around it, such as
// the request that caused the operations. A [Record] is either of them, or something
// that a file says of itself. Each can be appended as a line of the entries format,
// which is JSON Lines.
//
// Below it are
//
//   - op/attr, what attributes of spans mean beside the conventions,
//   - op/entries, the reader and the writer of the entries format,
//   - op/seed, the format of the recorder that this project started from.
//
// Other formats are read in package ingest and written in package render. All of these
// use the standard library only. Times are Unix nanoseconds, durations
// nanoseconds, both int64, and sizes are bytes. An unknown number is an [Int] that is
// not Known, an unknown shape is nil, an unknown text is empty.
package op
