// Package nsys reads the SQLite databases that Nsight Systems exports, "nsys export --type sqlite" and what "nsys
// stats" leaves. A program that imports it reads them through package ingest:
//
//	import _ "github.com/optrace/optrace/cmd/optrace/nsys"
//
// It stands in the module of the command: other programs that read files do without it.
//
// # What becomes of the tables
//
//	CUPTI_ACTIVITY_KIND_KERNEL        operations of devices, named by demangledName
//	CUPTI_ACTIVITY_KIND_MEMCPY        copies, such as "Memcpy HtoD (Pinned -> Device)", with bytes
//	CUPTI_ACTIVITY_KIND_MEMSET        sets, "Memset (Device)", with bytes
//	CUPTI_ACTIVITY_KIND_GRAPH_TRACE   CUDA graphs that were traced as a whole, "CUDA graph 7"
//	CUPTI_ACTIVITY_KIND_RUNTIME       launches, counted as skipped; calls outside ranges
//	CUPTI_ACTIVITY_KIND_SYNCHRONIZATION  counted as skipped
//	CUDA_GRAPH_NODE_EVENTS            the ranges in which nodes of CUDA graphs were captured
//	NVTX_EVENTS                       operators on the host: ranges that are pushed and popped, or
//	                                  started and ended. Marks and ranges without an end are counted
//	StringIds                         the texts that the others refer to
//	PROCESSES, ThreadNames            services, and the attribute thread.name of ranges
//	TARGET_INFO_SESSION_START_TIME    makes times Unix times
//
// Devices are cuda:N. Where work of several processes ran on devices, each process is a rank, in the order of their
// ids. An operation of a device belongs to the runtime call of its process with its correlation id, the earliest of
// several, and by that to the range that began last of those open on the thread of the call. The names that PyTorch's
// emit_nvtx writes are taken apart: "aten::mul, seq = 3, sizes = [[2, 3]]" is aten::mul with shapes. The other ranges
// are the path of what is inside them.
//
// Ranges whose names are those of steps, by the table of package internal/read/marks, are the steps of their process,
// and no part of a path; where it has none, the outermost ranges that repeat. An operation of a device is of the step
// and of the phase in which it was launched.
//
// A table or column that a version lacks is no error: the skip reason "missing:NVTX_EVENTS" names such a table. Other
// tables are not looked at, nor are views and computed columns.
//
// # Memory and damage
//
// Texts, ranges and launches are held, some 40 bytes a row, and the rows of devices are not: they are read twice. Texts
// of more than 16 KiB are left out. A row with values that cannot be is reported with its table and number, a page that
// is damaged with its table and the row before it, and the others are read. A database is never written to, and one
// with a write-ahead log or a journal beside it is refused: what they hold would have to be written first.
package nsys
