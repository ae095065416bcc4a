package perfetto

import (
	"slices"
	"strconv"

	"github.com/optrace/optrace/internal/text/protobuf"
	"github.com/optrace/optrace/op"
)

// sequence is the state of a sequence of packets: interned texts and defaults.
type sequence struct {
	valid                          bool // set if no packet is missing since the state was cleared
	categories, names, keys, texts map[uint64]string
	messages                       map[int]map[uint64][]byte // interned ones of devices, by field
	counters                       map[uint64]map[uint64]power
	bytes                          int64 // of the tables

	defaultTrack, defaultClock uint64
	hasTrack                   bool
	clocks                     map[uint64]*clock // its own
}

// The memory of a sequence without its tables, and of an interned text beside its bytes.
const (
	sequenceBytes = 160
	entryBytes    = 64
)

func (s *sequence) intern(b []byte, bad *bool) {
	f := fieldsOf(b, bad)
	for f.next() {
		switch f.Field {
		case internedCategories:
			s.add(&s.categories, f.data)
		case internedNames:
			s.add(&s.names, f.data)
		case internedAnnotationNames:
			s.add(&s.keys, f.data)
		case internedTexts:
			s.add(&s.texts, f.data)
		case internedContexts, internedSpecs, internedKernels, internedArgNames, internedCounters:
			s.addMessage(f.Field, f.data)
		}
	}
}

// addMessage keeps a message about devices. Of descriptors of counters it keeps the counter of power.
func (s *sequence) addMessage(field int, b []byte) {
	bad := false
	m := single(b, &bad)
	id := m[internedIID].n
	switch {
	case bad || id == 0:
		return
	case s.messages == nil:
		s.messages = make(map[int]map[uint64][]byte)
		s.counters = make(map[uint64]map[uint64]power)
	}
	if field == internedCounters {
		gpu := op.Int{V: int64(int32(m[counterGPU].n)), Known: m[counterGPU].set}
		s.counters[id] = powersOf(m[counterDescriptorOf].data, gpu, &bad)
		b = nil
	}
	if s.messages[field] == nil {
		s.messages[field] = make(map[uint64][]byte)
	}
	s.bytes += int64(len(b)-len(s.messages[field][id])) + 2*entryBytes
	s.messages[field][id] = slices.Clone(b)
}

func (s *sequence) add(table *map[uint64]string, b []byte) {
	bad := false
	m := single(b, &bad)
	id := m[internedIID].n
	text := m[internedName].data
	if bad || id == 0 {
		return // references to it are reported
	}
	if *table == nil {
		*table = make(map[uint64]string)
	}
	old, ok := (*table)[id]
	if !ok {
		s.bytes += entryBytes
	}
	s.bytes += int64(len(text) - len(old))
	(*table)[id] = string(text)
}

func (s *sequence) setDefaults(b []byte, bad *bool) {
	f := fieldsOf(b, bad)
	for f.next() {
		switch f.Field {
		case defaultsClock:
			s.defaultClock = f.n
		case defaultsTrackEvent:
			if e := single(f.data, bad); e[eventTrackUUID].set {
				s.defaultTrack = e[eventTrackUUID].n
				s.hasTrack = true
			}
		}
	}
}

type event struct {
	kind, track uint64
	hasTrack    bool
	name        string
	category    string   // the first one
	args        []byte   // the annotations as members of a JSON object, valid until the next event
	oldTime     bool     // it has a time of its own
	launched    []uint64 // the numbers of operations of devices
	problem     string   // the reason why the event cannot be read, "" if it can
}

// parseEvent parses an event of a sequence. It uses buf for the arguments.
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
		case eventGPUCorrelation:
			for c := fieldsOf(f.data, bad); c.next(); {
				if c.Field == gpuSubmitted {
					e.launched = slices.AppendSeq(e.launched, repeated(&c))
				}
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

type track struct {
	uuid, parent uint64
	hasParent    bool
	process      string // the name of its process for events; "" where it is not known itself
	thread       op.Int // negative if there is none
	open         []beginning
}

const trackBytes = 160

type beginning struct {
	name, category string
	args           []byte // members of a JSON object
	start          int64
	// problem is set if the slice cannot be read. Its end belongs to no other slice.
	problem  bool
	launched []uint64
}

const beginningBytes = 96 // the memory of a beginning without its texts, which may be shared

func (b *beginning) bytes() int64 {
	return beginningBytes + int64(len(b.args)) + 8*int64(len(b.launched))
}

// trackKey identifies a track. Events without a track have one per sequence.
type trackKey struct {
	uuid, sequence uint64
	isImplicit     bool
}

type tracks map[trackKey]*track

func (t tracks) of(key trackKey) (tr *track, isNew bool) {
	tr, ok := t[key]
	if !ok {
		tr = &track{uuid: key.uuid, thread: op.Known(-1)}
		if key.isImplicit {
			tr.process = "sequence " + strconv.FormatUint(key.sequence, 10)
		}
		t[key] = tr
	}
	return tr, !ok
}

// describe takes a descriptor and reports whether its track is new.
func (t tracks) describe(b []byte, bad *bool) (isNew bool) {
	m := single(b, bad)
	key := trackKey{uuid: m[trackUUID].n}
	var process string
	var thread op.Int
	for _, field := range []int{trackProcess, trackThread} {
		d := single(m[field].data, bad)
		if d[descriptorPID].set {
			process = processName(int64(int32(d[descriptorPID].n)))
		}
		if field == trackThread && d[descriptorTID].set {
			thread = op.Known(int64(d[descriptorTID].n))
		}
	}
	if *bad {
		return false
	}
	tr, isNew := t.of(key)
	if m[trackParentUUID].set {
		tr.parent = m[trackParentUUID].n
		tr.hasParent = true
	}
	if process != "" {
		tr.process = process
	}
	if thread.Known {
		tr.thread = thread
	}
	return isNew
}

func processName(pid int64) string { return "process " + strconv.FormatInt(pid, 10) }

func (t tracks) processOf(tr *track) string {
	for range maxParents {
		if tr.process != "" || !tr.hasParent {
			break
		}
		above := t[trackKey{uuid: tr.parent}]
		if above == nil {
			break
		}
		tr = above
	}
	if tr.process != "" {
		return tr.process
	}
	return "track " + strconv.FormatUint(tr.uuid, 10)
}

type clock struct {
	offset     int64 // the difference to the trace's clock in nanoseconds
	unit       int64 // the length of a tick in nanoseconds
	increments bool  // set if a time counts from the last one
	last       uint64
}

// clocks converts times to the trace's clock.
type clocks struct {
	all   map[uint64]*clock // except for clocks of a sequence
	real  op.Int            // the difference from the trace's clock to Unix time
	bytes int64             // approximate memory of the clocks
}

const clockBytes = 96

func isOfSequence(id uint64) bool { return firstSequenceClock <= id && id <= lastSequenceClock }

func (c *clocks) of(id uint64, seq *sequence) *clock {
	if isOfSequence(id) {
		return seq.clocks[id]
	}
	return c.all[id]
}

func (c *clocks) set(id uint64, seq *sequence, to clock) {
	table := &c.all
	if isOfSequence(id) {
		table = &seq.clocks
	}
	if *table == nil {
		*table = make(map[uint64]*clock)
	}
	if _, ok := (*table)[id]; !ok {
		c.bytes += clockBytes
	}
	(*table)[id] = &to
}

type reading struct {
	id, timestamp uint64
	clock
}

func (r *reading) ns() int64 { return int64(r.timestamp) * r.unit }

// snapshot places the clocks of a snapshot, see moment.
func (c *clocks) snapshot(b []byte, seq *sequence, bad *bool) {
	var readings []reading
	trace := uint64(clockBoottime)
	f := fieldsOf(b, bad)
	for f.next() {
		switch f.Field {
		case snapshotPrimary:
			trace = f.n
		case snapshotClocks:
			readings = append(readings, parseReading(f.data, bad))
		}
	}
	at, ok := c.moment(readings, trace, seq)
	if *bad || !ok {
		return
	}
	for i := range readings {
		r := &readings[i]
		r.offset = at - r.ns()
		r.last = r.timestamp
		c.set(r.id, seq, r.clock)
		if r.id == clockRealtime && !c.real.Known {
			c.real = op.Known(-r.offset)
		}
	}
}

// moment returns the time of a snapshot by the trace's clock: its own reading, or the reading of a clock placed before.
// In a trace without that clock the first clock outside sequences replaces it.
func (c *clocks) moment(readings []reading, trace uint64, seq *sequence) (ns int64, ok bool) {
	for i := range readings {
		if readings[i].id == trace {
			return readings[i].ns(), true
		}
	}
	for i := range readings {
		r := &readings[i]
		if known := c.of(r.id, seq); known != nil && !known.increments {
			return r.ns() + known.offset, true
		}
	}
	for i := range readings {
		if len(c.all) == 0 && !isOfSequence(readings[i].id) {
			return readings[i].ns(), true
		}
	}
	return 0, false
}

func parseReading(b []byte, bad *bool) (r reading) {
	m := single(b, bad)
	r.id = m[clockID].n
	r.timestamp = m[clockTimestamp].n
	r.increments = m[clockIncrements].n != 0
	r.unit = max(1, int64(m[clockMultiplier].n))
	return r
}

// time returns the time of a packet by the trace's clock, the default clock of packets. ok is false for an unplaced
// clock.
func (c *clocks) time(p *packet, seq *sequence) (ns int64, ok bool) {
	id := p.clock
	if id == 0 {
		id = seq.defaultClock
	}
	known := c.of(id, seq)
	switch {
	case id == 0, id == clockBoottime && known == nil:
		return int64(p.timestamp), true
	case known == nil:
		return 0, false
	}
	at := p.timestamp
	if known.increments {
		at += known.last
		known.last = at
	}
	return int64(at)*known.unit + known.offset, true
}
