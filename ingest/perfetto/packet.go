package perfetto

// packet is a TracePacket, taken apart as far as it matters here.
type packet struct {
	timestamp    uint64
	hasTimestamp bool
	clock        uint64 // of the timestamp, 0 where none is given
	sequence     uint64
	cleared      bool // the state of the sequence is new
	needsState   bool
	dropped      bool // packets of the sequence before this one are missing

	// The messages in it, nil for none.
	event, interned, defaults, snapshot, compressed, zstd []byte
	descriptor                                            []byte
	// isMetadata is set if there is a message about the trace or its writers, and other if there is one of another
	// kind.
	isMetadata, other bool
}

// parsePacket takes a packet apart.
func parsePacket(b []byte, bad *bool) (p packet) {
	f := fieldsOf(b, bad)
	for f.next() {
		switch f.Field {
		case packetTimestamp:
			p.timestamp = f.n
			p.hasTimestamp = f.data == nil
		case packetTimestampClock:
			p.clock = f.n
		case packetSequenceID:
			p.sequence = f.n
		case packetSequenceFlags:
			p.cleared = p.cleared || f.n&stateCleared != 0
			p.needsState = f.n&needsState != 0
		case packetCleared:
			p.cleared = p.cleared || f.n != 0
		case packetDropped:
			p.dropped = f.n != 0
		case packetTrackEvent:
			p.event = f.data
		case packetInternedData:
			p.interned = f.data
		case packetDefaults:
			p.defaults = f.data
		case packetClockSnapshot:
			p.snapshot = f.data
		case packetTrackDescriptor:
			p.descriptor = f.data
		case packetOldProcess, packetOldThread, packetTraceConfig, packetTraceStats, packetSyncMarker, packetSystemInfo,
			packetServiceEvent, packetExtension, packetTraceUUID:
			p.isMetadata = true
		case packetCompressed:
			p.compressed = f.data
		case packetZstd:
			p.zstd = f.data
		default:
			p.other = p.other || f.data != nil
		}
	}
	return p
}
