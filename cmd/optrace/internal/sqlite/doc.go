// Package sqlite reads the rows of tables of an SQLite database, one table after another from its first page to its
// last, by the description of the [file format]. There are no queries, indexes, views or computed columns, and nothing
// is written.
//
// A database is input that nobody vouches for. No page is looked at more often than there are pages, a row is at most 1
// MiB, and memory does not grow with the database. What is damaged is said by page, and the pages beside it are read.
//
// [file format]: https://www.sqlite.org/fileformat2.html
package sqlite
