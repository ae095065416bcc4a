// Package arrow writes operations, and the spans above them, as a stream of Apache
// Arrow's IPC format with the columns of entries: what `optrace convert -to arrow`
// writes of them.
//
// Each write is a small record batch with the batch record, the resource and the
// gaps, and a large one with the operations, all with dictionaries of their own. It
// holds the encoder of that format and the framing of its batches. What a record
// contains is decided by packages convert and op, columns and messages are
// arrowtable's, files the sink's.
package arrow
