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
		telling, ok := tells(packet)
		if telling || !ok || !whole {
			return telling && (ok || !whole)
		}
	}
	return false
}

// maxField is a number above all fields of a packet.
const maxField = 2000

// tells reports whether a packet has a field that others do not have, and whether it is
// well formed and has fields of the schema's types only.
func tells(packet []byte) (telling, ok bool) {
	bad := false
	f := fields{rest: packet, bad: &bad}
	for ok = true; ok && f.next(); {
		isNumber := f.data == nil
		switch f.num {
		case packetTimestamp, packetTimestampClock, packetSequenceID, packetSequenceFlags, packetCleared, packetDropped:
			telling, ok = true, isNumber
		case packetTrustedUID, packetTrustedPID, packetFirst, packetMachine:
			ok = isNumber
		case packetTrackEvent, packetTrackDescriptor, packetInternedData, packetDefaults, packetClockSnapshot, packetOldProcess,
			packetOldThread, packetCompressed, packetZstd:
			telling, ok = true, !isNumber
		default:
			ok = !isNumber && f.num < maxField
		}
	}
	return telling && ok, ok && !bad
}
