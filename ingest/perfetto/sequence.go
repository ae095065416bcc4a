package perfetto

// sequence is the state of a sequence of packets: what it interned, and its defaults.
type sequence struct {
	// valid is set if no packet is missing that the state depends on.
	valid bool
	// The tables of interned texts by their numbers.
	categories, names, keys, texts map[uint64]string
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

// clear forgets what was interned and the defaults.
func (s *sequence) clear() { *s = sequence{valid: true, clocks: s.clocks} }

// intern adds the texts of a message.
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
		}
	}
}

// add adds a text to a table.
func (s *sequence) add(table *map[uint64]string, b []byte) {
	var id uint64
	var text []byte
	bad := false
	f := fieldsOf(b, &bad)
	for f.next() {
		switch f.Field {
		case internedIID:
			id = f.n
		case internedName:
			text = f.data
		}
	}
	if bad || id == 0 {
		return // what refers to it is reported
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

// setDefaults takes the defaults of later packets.
func (s *sequence) setDefaults(b []byte, bad *bool) {
	f := fieldsOf(b, bad)
	for f.next() {
		switch f.Field {
		case defaultsClock:
			s.defaultClock = f.n
		case defaultsTrackEvent:
			e := fieldsOf(f.data, bad)
			for e.next() {
				if e.Field == eventTrackUUID {
					s.defaultTrack = e.n
					s.hasTrack = true
				}
			}
		}
	}
}
