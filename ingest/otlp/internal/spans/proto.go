package spans

import (
	"encoding/base64"
	"errors"
	"math"

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

// wire is a [message] in protobuf.
type wire struct{ protobuf.Cursor }

func wireOf(text []byte) wire { return wire{protobuf.Cursor{Buf: text}} }

func (w *wire) reset(text []byte) { *w = wireOf(text) }

// listed returns the next element of a group's list if its length takes one or two bytes, nil otherwise.
func (w *wire) listed() []byte {
	const tag = fieldList<<3 | protobuf.Bytes
	b := w.Buf[w.Pos:]
	if w.Err != nil || len(b) < 3 || b[0] != tag {
		return nil
	}
	start, end := 2, 2+int(b[1])
	if b[1] >= 0x80 {
		start, end = 3, 3+int(b[1]&0x7f)+int(b[2])<<7
	}
	if end > len(b) || start == 3 && b[2] >= 0x80 {
		return nil
	}
	w.Pos += end
	return b[start:end]
}

func (w *wire) open() (outer int) {
	outer = len(w.Buf)
	if w.Field == 0 { // the outermost message
		return outer
	}
	if b := w.Bytes(); w.Err == nil {
		w.Buf = w.Buf[:w.Pos]
		w.Pos -= len(b)
	}
	return outer
}

func (w *wire) more(outer int, _ schema) bool {
	if w.Next() {
		return true
	}
	w.Buf = w.Buf[:outer]
	return false
}

func (w *wire) number() int             { return w.Field }
func (w *wire) failure() error          { return w.Err }
func (w *wire) null() bool              { return false }
func (w *wire) skip()                   { w.Skip() }
func (w *wire) bytes() []byte           { return w.Bytes() }
func (w *wire) element(first bool) bool { return first && w.Err == nil }
func (w *wire) integer() (int64, bool)  { return int64(w.Uint()), true }
func (w *wire) double() (float64, bool) { return math.Float64frombits(w.Fixed64()), true }
func (w *wire) boolean() (v, ok bool)   { return w.Uint() != 0, true }
func (w *wire) count() int64            { return int64(uint32(w.Uint())) }
func (w *wire) flags() uint32           { return w.Fixed32() }
func (w *wire) time() (uint64, bool)    { return w.Fixed64(), true }
func (w *wire) enum(_ []string) int64   { return int64(w.Uint()) }

func (w *wire) base64(dst []byte) (text []byte, ok bool) {
	return base64.StdEncoding.AppendEncode(dst, w.Bytes()), true
}

func (w *wire) id(dst []byte) (ok bool) {
	b := w.Bytes()
	if ok = len(b) == len(dst); ok {
		copy(dst, b)
	} else {
		clear(dst)
	}
	return ok || len(b) == 0
}

func (w *wire) key() (key []byte) {
	at := *w
	for at.Skip(); at.Next(); at.Skip() {
		if at.Field == protobuf.KeyValueKey {
			return at.Bytes()
		}
	}
	return nil
}
