package perfetto

import "google.golang.org/protobuf/encoding/protowire"

// The fields of perfetto.protos that are written, by message.
const (
	tracePacket = 1

	packetClockSnapshot   = 6
	packetTimestamp       = 8
	packetSequenceID      = 10
	packetTrackEvent      = 11
	packetInternedData    = 12
	packetSequenceFlags   = 13
	packetTrackDescriptor = 60

	snapshotClocks = 1
	clockID        = 1
	clockTimestamp = 2

	trackUUID          = 1
	trackName          = 2
	trackProcess       = 3
	trackParentUUID    = 5
	trackCounter       = 8
	trackChildOrdering = 11
	trackSiblingRank   = 12

	processPID  = 1
	processName = 6

	counterUnit     = 3
	counterUnitName = 6

	internedCategories      = 1
	internedNames           = 2
	internedAnnotationNames = 3
	internedIID             = 1
	internedName            = 2

	eventCategoryIIDs       = 3
	eventAnnotations        = 4
	eventType               = 9
	eventNameIID            = 10
	eventTrackUUID          = 11
	eventCounterValue       = 30
	eventFlowIDs            = 47
	eventTerminatingFlowIDs = 48

	annotationNameIID = 1
	annotationBool    = 2
	annotationInt     = 4
	annotationString  = 6
	annotationNested  = 8
	annotationEntries = 11
	annotationArray   = 12
	nestedType        = 1
)

// The values of enums.
const (
	clockRealtime = 1
	clockBoottime = 6 // the clock of a trace

	stateCleared = 1
	needsState   = 2

	orderExplicit = 3
	unitBytes     = 3

	nestedArray = 2

	typeBegin   = 1
	typeEnd     = 2
	typeInstant = 3
	typeCounter = 4
)

func appendUint(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func appendText(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func appendMessage(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}

func appendFixed(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), v)
}
