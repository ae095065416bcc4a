// Package op is the model of optrace: what a tensor operation is once it has
// been recorded, independent of where it came from and of what is done with it.
//
// An [Entry] describes one finished operation. Entries are made from key/value
// attributes by a [Builder], which is the only mapping from attribute names to
// fields; the OTel exporter, the file readers and the Collector components all
// feed it. A [Span] stands for a span that is no operation but is needed for
// the structure around it, such as the request that caused the operations.
//
// Entries are stored as JSON Lines ([Writer], [Reader]) and, for compatibility
// with the recorder this project started from, as one JSON document
// ([Trace], [ReadTrace]).
//
// The package uses the standard library only. Times are Unix nanoseconds and
// durations nanoseconds in int64, sizes are bytes, and what is not known is
// told apart from zero by [Int] and by nil.
package op
