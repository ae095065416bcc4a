package spans

// Messages of metrics, logs and profiles are like TracesData, down to the lists of scopes: what their
// elements are is told by the wire types of the fields.

// signals has the wire types of the fields of a LogRecord, a Metric and a Profile, by number from 0:
// v is a varint, b bytes, q eight bytes, d four, and a dash no field.
var signals = []struct{ name, types string }{
	{"logs", "-qvb-bbvdbbqb"},
	{"metrics", "-bbb-b-b-bbbb"},
	{"profiles", "-bbqvbvbvbbb"},
}

// signalOf returns the signal that an element of a group's list is of, which is no span: "" where
// that is none that is known.
func signalOf(element []byte) string {
	for _, s := range signals {
		w, fits := wire{buf: element}, len(element) > 0
		for fits && w.next() {
			fits = w.field < len(s.types) && w.typ <= WireI32 && s.types[w.field] == "vqb..d"[w.typ]
			w.skip()
		}
		if fits && w.err == nil {
			return s.name
		}
	}
	return ""
}

// signalError is the error of a message that holds records of another signal.
type signalError string

// Error describes the message.
func (e signalError) Error() string { return "records of OTLP " + string(e) }

// IsDictionary reports whether b may be the start of the dictionary of profiles, of a size: lists of
// messages and of strings.
func IsDictionary(b []byte, size uint64) bool {
	const lists = 7
	w := wire{buf: b[:min(size, uint64(len(b)))]}
	for w.next() {
		if w.field > lists || w.typ != WireBytes {
			return false
		}
		w.skip()
	}
	return w.pos > 0 && (w.err == nil || w.err == ErrEnd && size > uint64(len(b)))
}
