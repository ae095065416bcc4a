package spans

import (
	"errors"

	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/internal/text/protobuf"
	"github.com/optrace/optrace/op"
)

// Proto reads messages in protobuf.
type Proto struct {
	*Decoder
	msg        wire
	attributes attributeTable
	texts      intern.Short // of valid UTF-8
}

// NewProto returns a reader of messages. It hands the records to d.
func NewProto(d *Decoder) *Proto { return &Proto{Decoder: d} }

// A group is a ResourceSpans or a ScopeSpans message. Both have the same two fields: a resource or scope, and a list.
const (
	fieldHeader = protobuf.ResourceSpansResource
	fieldList   = protobuf.ResourceSpansScopeSpans
)

// ReadTraces reads a TracesData message.
func (r *Proto) ReadTraces(text []byte) error {
	w := wireOf(text)
	for w.Next() && !r.Stopped {
		if w.Field == protobuf.ProfilesDictionary {
			r.Emit(OfSignal("profiles"), nil)
		}
		if w.Field != protobuf.TracesResourceSpans {
			w.Skip()
			continue
		}
		if m := w.Bytes(); w.Err == nil {
			w.Err = r.readResourceSpans(m)
		}
		if signal, ok := errors.AsType[signalError](w.Err); ok {
			r.Emit(OfSignal(string(signal)), nil)
			w.Err = nil
		}
	}
	return w.Err
}

func (r *Proto) readResourceSpans(text []byte) error {
	r.Resource = op.Resource{}
	return r.readGroup(text, func(m message) {
		if r.parseResource(m); m.failure() == nil {
			r.Emit(op.Record{Resource: &r.Resource}, nil)
		}
	}, r.readScopeSpans)
}

func (r *Proto) readScopeSpans(text []byte) error {
	r.Scope = op.Scope{}
	return r.readGroup(text, r.parseScope, r.ReadSpan)
}

// readGroup reads a group. Fields may come in any order; it reads the header first.
func (r *Proto) readGroup(text []byte, parseHeader func(message), readElement func([]byte) error) error {
	w := wireOf(text)
	b, err := header(w)
	if err != nil {
		return err
	}
	if b != nil {
		r.msg.reset(b)
		if parseHeader(&r.msg); r.msg.Err != nil {
			return r.msg.Err
		}
	}
	for !r.Stopped {
		b := w.listed()
		if b == nil {
			if !w.Next() {
				break
			}
			if w.Field != fieldList {
				w.Skip()
				continue
			}
			b = w.Bytes()
		}
		if w.Err == nil {
			w.Err = readElement(b)
		}
	}
	return w.Err
}

// ReadSpan reads a span and hands it out.
func (r *Proto) ReadSpan(b []byte) error {
	err := r.readSpan(b)
	if err != nil || r.fields.badID {
		if signal := signalOf(b); signal != "" {
			return signalError(signal)
		}
	}
	if err == nil {
		r.EmitSpan()
	}
	return err
}

// header returns the first header of a group, nil if it has none. Most encoders write it in front of the list, pdata
// behind.
func header(w wire) ([]byte, error) {
	for {
		for w.listed() != nil {
		}
		if !w.Next() {
			return nil, w.Err
		}
		if w.Field == fieldHeader {
			return w.Bytes(), w.Err
		}
		w.Skip()
	}
}

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
