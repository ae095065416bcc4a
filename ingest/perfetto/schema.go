package perfetto

import "github.com/optrace/optrace/internal/text/protobuf"

// The fields of perfetto.protos in use, by message.
const (
	tracePacket = 1

	packetTrustedUID      = 3
	packetClockSnapshot   = 6
	packetTimestamp       = 8
	packetSequenceID      = 10
	packetTrackEvent      = 11
	packetInternedData    = 12
	packetSequenceFlags   = 13
	packetTraceConfig     = 33
	packetTraceStats      = 35
	packetSyncMarker      = 36
	packetCleared         = 41
	packetDropped         = 42
	packetOldProcess      = 43
	packetOldThread       = 44
	packetSystemInfo      = 45
	packetCompressed      = 50
	packetGPUCounter      = 52
	packetRenderStage     = 53
	packetTimestampClock  = 58
	packetDefaults        = 59
	packetTrackDescriptor = 60
	packetServiceEvent    = 69
	packetExtension       = 72
	packetTrustedPID      = 79
	packetFirst           = 87
	packetTraceUUID       = 89
	packetMachine         = 98
	packetZstd            = 133

	snapshotClocks  = 1
	snapshotPrimary = 2
	clockID         = 1
	clockTimestamp  = 2
	clockIncrements = 3
	clockMultiplier = 4

	defaultsTrackEvent = 11
	defaultsClock      = 58

	trackUUID       = 1
	trackProcess    = 3
	trackThread     = 4
	trackParentUUID = 5

	descriptorPID = 1
	descriptorTID = 2

	internedCategories      = 1
	internedNames           = 2
	internedAnnotationNames = 3
	internedContexts        = 23 // these below as messages
	internedSpecs           = 24
	internedTexts           = 29
	internedCounters        = 47
	internedKernels         = 1000
	internedArgNames        = 1001
	internedIID             = 1
	internedName            = 2

	eventDeltaMicros    = 1
	eventCategoryIIDs   = 3
	eventAnnotations    = 4
	eventType           = 9
	eventNameIID        = 10
	eventTrackUUID      = 11
	eventAbsoluteMicros = 16
	eventCategories     = 22
	eventName           = 23
	eventGPUCorrelation = 3000
	gpuSubmitted        = 1

	stageEventID   = 1
	stageDuration  = 2
	stageQueueID   = 3 // deprecated
	stageStageID   = 4 // deprecated
	stageContext   = 5
	stageExtra     = 6
	stageGPU       = 11
	stageQueueIID  = 13
	stageStageIID  = 14
	stageOwnName   = 17
	stageWaits     = 18
	stageKernelIID = 19
	stageNameIID   = 20
	stageLaunch    = 21

	extraName       = 1
	extraValue      = 2
	launchGrid      = 1
	launchBlock     = 2
	launchArgs      = 3
	argNameIID      = 1
	argName         = 2
	argInt          = 3
	argUint         = 4
	argDouble       = 5
	argString       = 6
	argStringIID    = 7
	contextPID      = 2
	contextAPI      = 3
	specName        = 2
	kernelName      = 2
	kernelDemangled = 3
	kernelArgs      = 5

	counterDescriptor    = 1
	counterSamples       = 2
	counterGPU           = 3
	counterDescriptorIID = 4
	counterDescriptorOf  = 2 // of an interned one
	descriptorSpecs      = 1
	counterID            = 1
	counterName          = 2
	counterUnits         = 7
	counterPer           = 8
	counterDirection     = 11
	sampleInt            = 2
	sampleDouble         = 3

	annotationNameIID = 1
	annotationBool    = 2
	annotationUint    = 3
	annotationInt     = 4
	annotationDouble  = 5
	annotationString  = 6
	annotationPointer = 7
	annotationNested  = 8
	annotationJSON    = 9
	annotationName    = 10
	annotationEntries = 11
	annotationArray   = 12
	annotationTextIID = 17

	nestedType = 1
)

const (
	clockRealtime = 1
	clockBoottime = 6

	// Clocks in this range belong to a sequence.
	firstSequenceClock, lastSequenceClock = 64, 127

	stateCleared = 1
	needsState   = 2

	typeBegin   = 1
	typeEnd     = 2
	typeInstant = 3
	typeCounter = 4

	apiCUDA = 4

	isDict  = 1
	isArray = 2
)

// fields walks the fields of a message. A malformed message sets *bad and ends the walk.
type fields struct {
	protobuf.Cursor
	bad *bool
	// n is the value of a number, data the content of a text or message. The other one is zero.
	n    uint64
	data []byte
}

func fieldsOf(message []byte, bad *bool) fields {
	return fields{Cursor: protobuf.Cursor{Buf: message}, bad: bad}
}

// values are the fields of a message with numbers below 32. Of a repeated field the last one counts.
type values [32]struct {
	n    uint64
	data []byte
	set  bool
}

func single(message []byte, bad *bool) (m values) {
	f := fieldsOf(message, bad)
	for f.next() {
		if v := &m[f.Field&31]; f.Field < len(m) {
			v.n, v.data, v.set = f.n, f.data, true
		}
	}
	return m
}

func (m *values) text(field int) string { return string(m[field].data) }

// next moves to the next field and reads it.
func (f *fields) next() bool {
	if *f.bad {
		return false
	}
	more := f.Next()
	if more {
		f.n, f.data = f.Any()
	}
	if f.Err != nil {
		*f.bad = true
		return false
	}
	return more
}
