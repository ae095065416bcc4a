// Package perfetto reads traces of Perfetto in its own format, as far as their TrackEvents say what ran: slices on
// tracks, with their names, categories and debug annotations. Package render/perfetto writes such traces, and those of
// others are read by the same public schema.
//
// A slice is made an event of package ingest/kineto, which knows what is an operation: its category and its annotations
// are what the category and the arguments of an event of a Chrome trace are. Annotations may hold dictionaries, lists
// and JSON; of the nested values that versions before 2021 wrote, only empty ones are known. Names of tracks, threads
// and processes tell events apart and mean nothing else.
//
// The beginning and the end of a slice are matched on its track, in the order of the file, and an end without a
// beginning, or the reverse, is counted. So are instants, counters, descriptors, and packets of other kinds. Flows are
// passed over.
//
// Times are those of the clock of the trace, on which snapshots place the other clocks of packets, those of one
// sequence and those with increments among them; the first snapshot that has the real time gives the Unix time of all.
// Without one, times count from where the clock of the trace does. An event is an error if it has no time, if no
// snapshot places its clock, or if it has a time of its own, in microseconds, as old versions wrote.
//
// What a sequence interns is held until it says that its state is cleared, beginnings until their ends: the caller's
// budget bounds both. Packets that are compressed in the file are read as well. A file that is cut off is read up to
// there, and nothing is read behind a damaged length of a packet.
package perfetto
