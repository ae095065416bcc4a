// Package arrowtable turns records into record batches of an Arrow IPC stream:
// the columns that render/arrow documents, in the messages of arrowipc. The writer
// of `optrace convert` and the exporter's encoder share it.
//
// Each batch has dictionaries of its own, which replace those of the batch before,
// so that it can be read by itself.
package arrowtable
