// Package nsys reads the SQLite databases of Nsight Systems, from "nsys export --type sqlite" or "nsys stats". A
// program that imports it reads them through package ingest:
//
//	import _ "github.com/optrace/optrace/cmd/optrace/nsys"
//
// It belongs to the module of the command: other programs do not need its dependencies.
//
// docs/formats.md lists the tables and what becomes of them. Devices are cuda:N. If several processes used devices, each
// is a rank, in the order of process ids. A device operation belongs to the earliest runtime call of its process with its
// correlation id, and through the call to the innermost range open on the call's thread.
//
// A missing table or column is no error: the skip reason "missing:NVTX_EVENTS" names a missing table. Other tables, views
// and computed columns are ignored. A start months away from most others is no time; the entry has the warning bad_time.
//
// The reader holds texts, ranges and launches, some 40 bytes a row. It reads the rows of devices twice and does not hold
// them. It leaves out texts above 16 KiB. It reports a row with impossible values with its table and number, and a damaged
// page with its table and the row before it, and reads the other rows. It never writes to a database. It refuses a
// database with a write-ahead log or a journal beside it: their content would have to be written first.
package nsys
