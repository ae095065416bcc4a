package otlp

import (
	"encoding/binary"

	"github.com/optrace/optrace/op"
)

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
			fits = w.field < len(s.types) && w.typ <= wireI32 && s.types[w.field] == "vqb..d"[w.typ]
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

// otherSignal hands a record of another signal out in place of its error, and returns any other error.
func (r *protoReader) otherSignal(err error) error {
	if signal, ok := err.(signalError); ok {
		r.emit(ofSignal(string(signal)), nil)
		return nil
	}
	return err
}

// ofSignal returns the record in place of one of another signal.
func ofSignal(signal string) op.Record {
	return op.Record{Skipped: op.Skipped{Reason: op.SkipOtherSignal, N: 1, Signal: signal}}
}

// looksLikeProfiles reports whether b may be the start of a ProfilesData message that has its dictionary
// in front: lists of messages and of strings.
func looksLikeProfiles(b []byte) bool {
	const lists = 7
	if len(b) < 3 || b[0] != fieldProfilesDictionary<<3|wireBytes {
		return false
	}
	size, n := binary.Uvarint(b[1:])
	if n <= 0 || size == 0 {
		return false
	}
	b = b[1+n:]
	w := wire{buf: b[:min(size, uint64(len(b)))]}
	for w.next() {
		if w.field > lists || w.typ != wireBytes {
			return false
		}
		w.skip()
	}
	return w.pos > 0 && (w.err == nil || w.err == errWireEnd && size > uint64(len(b)))
}
