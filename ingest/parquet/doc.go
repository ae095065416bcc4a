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
// The rows are read in batches, column by column. The parquet-go library decodes
// the metadata and the values of a page, once the sizes, runs and lengths that they
// claim have been checked against the bytes that are there: the library allocates
// what is claimed. The values of a dictionary are translated once, and columns that
// mean nothing are not read. Memory holds a batch of rows, and a page and a
// dictionary of each column, within [MaxHeldBytes]. The row groups of a file can be
// read by several goroutines.
package parquet
