package spans

import "github.com/optrace/optrace/internal/text/protobuf"

// Messages of metrics, logs and profiles have the structure of TracesData down to the lists of scopes. The wire types
// of the fields of their elements tell them apart.

// signals has the wire types of the fields of a LogRecord, a Metric and a Profile, by number from 0: v is a varint, b
// bytes, q eight bytes, d four bytes, and a dash no field.
var signals = []struct{ name, types string }{
	{"logs", "-qvb-bbvdbbqb"},
	{"metrics", "-bbb-b-b-bbbb"},
	{"profiles", "-bbqvbvbvbbb"},
}

// signalOf returns the signal of an element of a group's list, "" for an unknown one.
func signalOf(element []byte) string {
	for _, s := range signals {
		c := protobuf.Cursor{Buf: element}
		fits := len(element) > 0
		for fits && c.Next() {
			fits = c.Field < len(s.types) && c.Type <= protobuf.Fixed32 && s.types[c.Field] == "vqb..d"[c.Type]
			c.Skip()
		}
		if fits && c.Err == nil {
			return s.name
		}
	}
	return ""
}

// signalError is the error of a message of another signal.
type signalError string

// Error describes the message.
func (e signalError) Error() string { return "records of OTLP " + string(e) }

// IsDictionary reports whether b may be the start of the dictionary of profiles: size bytes of lists of messages and of
// strings.
func IsDictionary(b []byte, size uint64) bool {
	const lists = 7
	c := protobuf.Cursor{Buf: b[:min(size, uint64(len(b)))]}
	for c.Next() {
		if c.Field > lists || c.Type != protobuf.Bytes {
			return false
		}
		c.Skip()
	}
	return c.Pos > 0 && (c.Err == nil || c.Err == protobuf.ErrEnd && size > uint64(len(b)))
}
