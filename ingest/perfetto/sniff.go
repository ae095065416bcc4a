package perfetto

import "github.com/optrace/optrace/internal/text/protobuf"

// Sniff reports whether a file that starts with head is a trace. The first packet with a field that only packets have
// decides: it must be well formed and have the schema's types, and so must all packets before it. Other messages, such
// as OTLP's, start with the same tag and lack such a field.
func Sniff(head []byte) bool {
	for rest := head; len(rest) > 1; {
		if rest[0] != packetTag {
			return false
		}
		c := protobuf.Cursor{Buf: rest, Pos: 1}
		size := c.Varint()
		if c.Err != nil {
			return false
		}
		packet := rest[c.Pos:]
		isWhole := size <= uint64(len(packet))
		if isWhole {
			packet, rest = packet[:size], packet[size:]
		}
		telling, ok := tells(packet)
		if telling || !ok || !isWhole {
			return telling && (ok || !isWhole)
		}
	}
	return false
}

// maxField is above the numbers of all fields of a packet.
const maxField = 2000

// tells reports whether a packet has a field that only packets have. ok is false for a packet that is malformed or has
// a field of another type than the schema's.
func tells(packet []byte) (telling, ok bool) {
	bad := false
	f := fieldsOf(packet, &bad)
	for ok = true; ok && f.next(); {
		isNumber := f.data == nil
		switch f.Field {
		case packetTimestamp, packetTimestampClock, packetSequenceID, packetSequenceFlags, packetCleared, packetDropped:
			telling = true
			ok = isNumber
		case packetTrustedUID, packetTrustedPID, packetFirst, packetMachine:
			ok = isNumber
		case packetTrackEvent, packetTrackDescriptor, packetInternedData, packetDefaults, packetClockSnapshot,
			packetOldProcess, packetGPUCounter, packetRenderStage,
			packetOldThread, packetCompressed, packetZstd:
			telling = true
			ok = !isNumber
		default:
			ok = !isNumber && f.Field < maxField
		}
	}
	return telling && ok, ok && !bad
}
