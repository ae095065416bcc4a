package optrace

// Stats counts what became of the operations that an exporter or a processor
// was given.
type Stats struct {
	// Recorded counts operations.
	Recorded uint64
	// Written counts those that the writer, or the exporter behind a
	// processor, has taken.
	Written uint64
	// Dropped counts those that are lost: for want of room, because a write
	// failed, or because there was no time left at Shutdown. After Shutdown
	// Recorded is Written plus Dropped; before, the difference is under way.
	Dropped uint64
	// Skipped counts spans that are no operations, and those that a filter or
	// sampling left out. Those above operations are written as ancestry records.
	Skipped uint64
	// Shortened counts the operations, and the spans above them, that were too large
	// to be read again: texts were cut, and end with "…", or attributes, events and
	// links left out, which count as dropped of the span. For a Processor it is that
	// of the [Exporter] behind it.
	Shortened uint64
	// DeletedFiles counts the rotated files that were deleted to keep the bound
	// on their total, see [Rotation]. What they held counts as written.
	DeletedFiles uint64
	// Forgotten counts spans that had not ended when a [Processor] forgot them. It
	// knows the local roots that are open, and the open spans of traces with several,
	// in at most 32 MiB, which is more than a hundred thousand. Where spans are never
	// ended, it forgets those that it has not needed for longest. Operations below a
	// root that was forgotten have no Root.
	Forgotten uint64
	// Unsummed counts the operations that [WithForwardThreshold] left out and that no
	// event tells of: the sums below open local roots take at most 32 MiB, and those
	// that have not grown for longest are forgotten. What ends below their roots later
	// is forwarded.
	Unsummed uint64
}
