// Package nsys reads the SQLite databases of Nsight Systems, from "nsys export --type sqlite" or "nsys stats". A
// program that imports it reads them through package ingest:
//
//	import _ "github.com/optrace/optrace/cmd/optrace/nsys"
//
// It belongs to the module of the command: other programs do not need its dependencies.
//
// # Tables
//
//	CUPTI_ACTIVITY_KIND_KERNEL        operations of devices, named by demangledName
//	CUPTI_ACTIVITY_KIND_MEMCPY        copies, such as "Memcpy HtoD (Pinned -> Device)", with bytes
//	CUPTI_ACTIVITY_KIND_MEMSET        sets, "Memset (Device)", with bytes
//	CUPTI_ACTIVITY_KIND_GRAPH_TRACE   CUDA graphs traced as a whole, "CUDA graph 7"
//	CUPTI_ACTIVITY_KIND_RUNTIME       launches, counted as skipped; calls outside ranges, waits within
//	CUPTI_ACTIVITY_KIND_SYNCHRONIZATION  what calls wait for, counted as skipped
//	CUPTI_ACTIVITY_KIND_CUDA_EVENT    the recordings of the events of waits
//	CUDA_GRAPH_NODE_EVENTS            the ranges around the capture of CUDA graph nodes
//	NVTX_EVENTS                       operators on the host: push-pop and start-end ranges.
//	                                  Marks and ranges without an end are counted
//	StringIds                         the texts of the other tables
//	PROCESSES, ThreadNames            services, and the attribute thread.name of ranges
//	TARGET_INFO_SESSION_START_TIME    the origin of Unix times
//
// Devices are cuda:N. If several processes used devices, each is a rank, in the order of process ids. A device
// operation belongs to the earliest runtime call of its process with its correlation id, and through the call to the
// innermost range open on the call's thread. Names from PyTorch's emit_nvtx are parsed: "aten::mul, seq = 3, sizes =
// [[2, 3]]" is aten::mul with shapes. The other ranges form the path of the operations inside them.
//
// Ranges named as steps, by the table of package internal/read/marks, are the steps of their process and no part of a
// path. Without such ranges, the outermost repeating ranges are the steps. A device operation has the step and the
// phase of its launch.
//
// A missing table or column is no error: the skip reason "missing:NVTX_EVENTS" names a missing table. A table may have
// the suffix of another schema, such as NVTX_EVENTS_V2. The skip reason "category:NVTX_EVENTS_V3" names a table of such
// a name that is not read. Other tables, views and computed columns are ignored.
//
// A start months away from most others is no time; the entry has the warning bad_time.
//
// # Memory and damage
//
// The reader holds texts, ranges and launches, some 40 bytes a row. It reads the rows of devices twice and does not
// hold them. It leaves out texts above 16 KiB. It reports a row with impossible values with its table and number, and a
// damaged page with its table and the row before it, and reads the other rows. It never writes to a database. It
// refuses a database with a write-ahead log or a journal beside it: their content would have to be written first.
package nsys
