package spans

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/op"
)

// Proto reads messages in protobuf.
type Proto struct {
	*Decoder
	msg        wire
	attributes attributeTable
	texts      intern.Short // of valid UTF-8
}

// NewProto returns a reader of messages, which hands the records to d.
func NewProto(d *Decoder) *Proto { return &Proto{Decoder: d} }

// ReadTraces reads a TracesData message.
func (r *Proto) ReadTraces(text []byte) error {
	w := wire{buf: text}
	for w.next() && !r.Stopped {
		if w.field == FieldDictionary {
			r.Emit(OfSignal("profiles"), nil)
		}
		if w.field != FieldResourceSpans {
			w.skip()
			continue
		}
		if m := w.bytes(); w.err == nil {
			w.err = r.readResourceSpans(m)
		}
		if signal, ok := errors.AsType[signalError](w.err); ok {
			r.Emit(OfSignal(string(signal)), nil)
			w.err = nil
		}
	}
	return w.err
}

// readResourceSpans reads a ResourceSpans message.
func (r *Proto) readResourceSpans(text []byte) error {
	r.Resource = op.Resource{}
	return r.readGroup(text, func(m message) {
		if r.parseResource(m); m.failure() == nil {
			r.Emit(op.Record{Resource: &r.Resource}, nil)
		}
	}, r.readScopeSpans)
}

// readScopeSpans reads a ScopeSpans message.
func (r *Proto) readScopeSpans(text []byte) error {
	r.Scope = op.Scope{}
	return r.readGroup(text, r.parseScope, r.ReadSpan)
}

// readGroup reads a message of a header and a list. Fields may come in any order: the header is read first.
func (r *Proto) readGroup(text []byte, parseHeader func(message), readElement func([]byte) error) error {
	w := wire{buf: text}
	b, err := header(w)
	if err != nil {
		return err
	}
	if b != nil {
		r.msg.reset(b)
		if parseHeader(&r.msg); r.msg.err != nil {
			return r.msg.err
		}
	}
	for !r.Stopped {
		b := w.listed()
		if b == nil {
			if !w.next() {
				break
			}
			if w.field != FieldList {
				w.skip()
				continue
			}
			b = w.bytes()
		}
		if w.err == nil {
			w.err = readElement(b)
		}
	}
	return w.err
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

// header returns the header of a group, nil for none, wherever it stands in the message:
// first where an encoder wrote it, else it is looked for, passing over the list. A
// second one is not looked for behind a first.
func header(w wire) ([]byte, error) {
	for {
		for w.listed() != nil { // pdata writes the header behind the list
		}
		if !w.next() {
			return nil, w.err
		}
		if w.field == FieldHeader {
			return w.bytes(), w.err
		}
		w.skip()
	}
}

// FieldSize returns the size of the field that text starts with, of which text may hold the
// tag and the length alone. ErrEnd says that it ends before these, or within a field that has no length.
func FieldSize(text []byte) (size int, err error) {
	w := wire{buf: text}
	if w.next(); w.err == nil && w.typ == WireBytes {
		n := w.varint()
		return w.pos + int(min(n, math.MaxInt32-binary.MaxVarintLen64)), w.err
	}
	w.skip()
	return w.pos, w.err
}
