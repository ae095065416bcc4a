// Package parquet reads operations from tables in Apache Parquet: those that
// render/parquet writes, which keep all that entries JSON Lines hold, and what
// DuckDB, pandas, Spark and others made of them or put together themselves.
//
// Columns are found by name, and package render/parquet lists them. Only
// operation and a duration, in duration_ns or duration_us, must be there. What
// a file lacks follows from the rest where it can: the kind from the name,
// elements and bytes from the output's shape. Integers may be of any width or
// floating-point numbers of integral value, times may be timestamps, ids bytes,
// shapes text. Values of another type are unknown, with a warning on the entry.
//
// The rows are read in batches, column by column. A page is decoded by the
// parquet-go library, as is the metadata, once the sizes, runs and blocks that it
// claims have been checked against the bytes that are there: a page may claim any
// number of values in a few bytes, and the library allocates the memory that it
// claims. The values of a dictionary are translated once, and columns that mean
// nothing are not read. Where who reads asks for that, and the table has the columns that
// render/parquet writes, operations are handed out in columns of 256 rows, with the
// indexes of the file's dictionaries as codes; columns at which nobody looks are then
// read for the few rows that are shown, and pages of them that hold none are passed over.
// Memory holds a batch of rows, and a page and a dictionary of each column, twice where
// it is read both ways, within [MaxHeldBytes]. The row groups of a file can be read by
// several goroutines.
//
// Package render/parquet writes such tables, and package ingest tells a file's
// format and opens it.
package parquet
