// Package arrow reads operations from tables in Apache Arrow's IPC formats: streams
// of record batches and files (Feather V2), those that render/arrow and the exporter
// write, which keep all that entries JSON Lines hold, and what polars, pandas,
// DuckDB and others made of them or put together themselves.
//
// Columns are found by name, and package render/parquet lists them. Only operation
// and a duration, in duration_ns or duration_us, must be there. What a table lacks
// follows from the rest where it can: the kind from the name, elements and bytes
// from the output's shape. Integers may be of any width or floating-point numbers of
// integral value, times may be timestamps, ids bytes, shapes text, and any column a
// dictionary. Values of another type are unknown, with a warning on the entry.
//
// A dictionary is translated once, whatever refers to it, and the rows are then read
// column by column, some hundred at a time: a window of chunks of 64 rows, for which
// validity is a bit each. What values mean stands in a table, in which a row has a
// place; place 0 is that of null. Where who reads asks for that, these columns are handed
// out as op.Columns, with the places as codes, and only rows that columns cannot hold,
// such as those with a warning, become entries. Columns that mean nothing are not read.
// A stream that ends within a message, or between the dictionaries of a batch and the
// batch, was cut off: an error says so, and what precedes it counts. Sizes that a
// file claims are checked against the bytes that are there; memory holds a message
// and the dictionaries in effect, within [MaxHeldBytes]. The batches of a file that
// can be read anywhere are shared among goroutines, each with the dictionaries that
// it needs.
package arrow
