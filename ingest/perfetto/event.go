package perfetto

import "github.com/optrace/optrace/internal/text/protobuf"

// event is a TrackEvent, as far as it matters here.
type event struct {
	kind     uint64
	track    uint64
	hasTrack bool
	name     string
	category string // the first one
	args     []byte // the annotations as members of a JSON object, valid until the next event
	oldTime  bool   // it has a time of its own
	// problem says why the event cannot be read; "" if it can.
	problem string
}

// parseEvent takes an event of a sequence apart. buf is used for the arguments.
func parseEvent(b []byte, seq *sequence, buf []byte, bad *bool) (e event) {
	e.args = buf[:0]
	e.track, e.hasTrack = seq.defaultTrack, seq.hasTrack
	a := annotator{seq: seq, bad: bad}
	hasCategory := false
	named := true
	f := fieldsOf(b, bad)
	for f.next() {
		switch f.Field {
		case eventType:
			e.kind = f.n
		case eventTrackUUID:
			e.track = f.n
			e.hasTrack = true
		case eventDeltaMicros, eventAbsoluteMicros:
			e.oldTime = true
		case eventNameIID:
			e.name, named = seq.names[f.n]
		case eventName:
			e.name = string(f.data)
		case eventCategoryIIDs:
			if !hasCategory {
				id := f.n
				if f.data != nil {
					packed := protobuf.Cursor{Buf: f.data}
					id = packed.Varint()
				}
				e.category = seq.categories[id]
				hasCategory = true
			}
		case eventCategories:
			if !hasCategory {
				e.category = string(f.data)
				hasCategory = true
			}
		case eventAnnotations:
			e.args = a.member(e.args, f.data, 0)
		}
	}
	switch {
	case !named:
		e.problem = "an event with a name that is not known"
	case a.unknown:
		e.problem = "an event with an annotation that is not known"
	case a.large:
		e.problem = "an event with annotations that are too large"
	case a.hasJSON && !isJSON(append(append([]byte{'{'}, e.args...), '}')):
		e.problem = "an event with annotations that nest too deep"
	}
	if e.problem != "" {
		e.args = e.args[:0]
	}
	return e
}
