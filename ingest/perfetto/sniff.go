package perfetto

import "google.golang.org/protobuf/encoding/protowire"

// Sniff reports whether a file that starts with head is a trace: the first packet that has
// a field that tells has it as the schema says, and so far all is well formed. Other
// messages, such as those of OTLP, start like packets do and have no such field.
func Sniff(head []byte) bool {
	for rest := head; len(rest) > 1; {
		if rest[0] != tracePacket<<3|byte(protowire.BytesType) {
			return false
		}
		size, n := protowire.ConsumeVarint(rest[1:])
		if n < 0 {
			return false
		}
		rest = rest[1+n:]
		whole := size <= uint64(len(rest))
		packet := rest
		if whole {
			packet, rest = rest[:size], rest[size:]
		}
		switch telling, ok := tells(packet); {
		case telling:
			return ok || !whole
		case !ok || !whole:
			return false
		}
	}
	return false
}

// tells reports whether a packet has a field that others do not have, and whether it is
// well formed.
func tells(packet []byte) (telling, ok bool) {
	f := fields{rest: packet}
	for f.next() {
		switch f.num {
		case packetTimestamp, packetTimestampClock, packetSequenceID, packetSequenceFlags, packetCleared, packetDropped:
			telling = telling || f.data == nil
		case packetTrackEvent, packetTrackDescriptor, packetInternedData, packetDefaults, packetClockSnapshot, packetOldProcess,
			packetOldThread, packetCompressed, packetZstd:
			telling = telling || f.data != nil
		}
	}
	return telling, !f.bad
}
