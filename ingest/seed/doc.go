// Package seed reads and writes the format of the reference recorder: one JSON document of entries, total duration and
// metadata. [Records] reads a document, an [Encoder] writes one.
package seed
