// Package sqlite reads the rows of an SQLite database by the description of its [file format], one table after another.
// It has no queries, indexes, views or computed columns, and does not write.
//
// The database is untrusted input. The reader visits no page more often than there are pages, limits a row to 1 MiB,
// and its memory does not grow with the database. It reports damage by page and reads the other pages.
//
// [file format]: https://www.sqlite.org/fileformat2.html
package sqlite
