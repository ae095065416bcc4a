// Package seed reads and writes the seed format, one JSON document, for compatibility with the
// recorder that this project started from. [Records] and [Stream] read the records of one,
// an [Encoder] writes them; a [Trace] is one in memory.
package seed
