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
// The rows are put together column by column as they are read, so that memory
// holds a page and a dictionary of each column, within [MaxHeldBytes]. The
// pages are decoded here and not by a library: a page may claim any number of
// values in a few bytes, and those who decode it at once allocate what it
// claims.
package parquet
