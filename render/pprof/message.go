package pprof

import "google.golang.org/protobuf/encoding/protowire"

// The fields of the messages of [profile.proto] that are used.
//
// [profile.proto]: https://github.com/google/pprof/blob/main/proto/profile.proto
const (
	profileSampleType, profileSample, profileMapping        = 1, 2, 3
	profileLocation, profileFunction, profileString         = 4, 5, 6
	profileTime, profileDuration                            = 9, 10
	profilePeriodType, profilePeriod                        = 11, 12
	profileComments, profileDefaultType                     = 13, 14
	valueTypeType, valueTypeUnit                            = 1, 2
	sampleLocations, sampleValues, sampleLabel              = 1, 2, 3
	labelKey, labelText                                     = 1, 2
	mappingID, mappingFile, mappingHasFunctions             = 1, 5, 7
	locationID, locationMapping, locationLine, lineFunction = 1, 2, 4, 1
	functionID, functionName                                = 1, 2
)

// message is an encoded message.
type message []byte

// number appends a field; the number 0 is the same as none.
func (m *message) number(field protowire.Number, v uint64) {
	if v != 0 {
		*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), v)
	}
}

// numbers appends a field of several numbers, packed where that is shorter.
func (m *message) numbers(field protowire.Number, vs []uint64) {
	var packed []byte
	for _, v := range vs {
		if len(vs) <= 2 {
			*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), v)
		} else {
			packed = protowire.AppendVarint(packed, v)
		}
	}
	if packed != nil {
		m.message(field, packed)
	}
}

func (m *message) message(field protowire.Number, v message) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), v)
}

func (m *message) text(field protowire.Number, s string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), s)
}

// texts is the table of a profile's texts.
type texts struct {
	all     []string
	indices map[string]uint64
}

// newTexts returns a table whose first text is empty, as the format wants it.
func newTexts() texts { return texts{all: []string{""}, indices: map[string]uint64{"": 0}} }

// index returns the place of s in the table.
func (t *texts) index(s string) uint64 {
	i, ok := t.indices[s]
	if !ok {
		i = uint64(len(t.all))
		t.all, t.indices[s] = append(t.all, s), i
	}
	return i
}
