// Package perfetto reads Perfetto's own trace format, by its public schema: the slices of TrackEvents with their names,
// categories and debug annotations. Package render/perfetto writes such traces.
//
// A slice becomes an event of package ingest/kineto, which decides what is an operation by category and annotations, as
// for an event of a Chrome trace. Annotations may hold dictionaries, lists and JSON. Of the nested values before 2021,
// only empty ones are known. Names of tracks, threads and processes only tell events apart;
// the tid of a track's own thread is the attribute thread.id of host operations, and of what they launch.
//
// A GpuRenderStageEvent becomes an event of a device: a kernel, copy or set by its stage, with the stream of its queue.
// The calls that state its number launched it or waited for it, and event_wait_ids state the operations that it waited
// for. Of counters of GPUs, power is read. The typed data need fields of Perfetto's protos up to version 59.
//
// The beginning and the end of a slice match on its track, in the order of the file. An end without a beginning, or the
// reverse, is counted as skipped. So are instants, counters, descriptors and packets of other kinds. Flows are ignored.
//
// Times are by the clock of the trace. Snapshots relate the other clocks to it, including clocks of a sequence and
// incremental ones; the first snapshot with the real time gives Unix times. Without one, times start at the zero of the
// trace's clock. An event is an error if it has no time, if no snapshot has its clock, or if it has a time in
// microseconds, as old versions wrote.
//
// The interned data of a sequence are held until its state is cleared, beginnings until their ends, both within the
// caller's memory bound. Compressed packets are read as well. A truncated file is read up to its end; a damaged packet
// length ends the reading.
package perfetto
