// Package arrowipc is the framing of Apache Arrow's IPC streams and files: the
// messages, and the schema and the places of buffers that their metadata hold.
// What columns mean, and the buffers, are its callers' business: package
// arrowtable writes them, ingest/arrow reads them.
//
// The metadata are FlatBuffers, of which this package writes and reads the little
// that Arrow uses. Whatever it reads it checks: offsets lie within the metadata,
// counts are believed as far as there are bytes for them, and schemas nest within
// [MaxDepth].
package arrowipc
