// Package op is the model of optrace: recorded tensor operations, independent of their source and use. An [Entry]
// describes one finished operation. A [Span] is any other span of the trace, such as the request above the operations. A
// [Record] holds one of them, or a statement of a file about itself. AppendJSON appends any of them as a line of the
// entries format, which is JSON Lines.
//
// Below it are
//
//   - op/attr, the meaning of span attributes beside the conventions,
//   - op/entries, the reader and the writer of the entries format.
//
// Package ingest reads other formats and package render writes them. These packages use the standard library only. Times
// are Unix nanoseconds, durations nanoseconds, both int64; sizes are bytes. An unknown number is an [Int] that is not
// Known, an unknown shape is nil, an unknown text is empty.
package op
