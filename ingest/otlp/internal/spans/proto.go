package spans

import (
	"cmp"
	"encoding/binary"
	"math"

	"github.com/optrace/optrace/internal/intern"
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
			w.err = r.OtherSignal(r.ReadResourceSpans(m))
		}
	}
	return w.err
}

// ReadResourceSpans reads a ResourceSpans message. Fields may come in any order:
// the resource is read first.
func (r *Proto) ReadResourceSpans(text []byte) error {
	w := wire{buf: text}
	r.Resource = op.Resource{}
	if b, err := header(w); err != nil || b != nil && r.EmitResource(b) != nil {
		return cmp.Or(err, r.msg.err)
	}
	for w.next() && !r.Stopped {
		if w.field != FieldList {
			w.skip()
			continue
		}
		if m := w.bytes(); w.err == nil {
			w.err = r.ReadScopeSpans(m)
		}
	}
	return w.err
}

// ReadResource reads the header of a group of scopes.
func (r *Proto) ReadResource(text []byte) error { return r.read(text, r.parseResource) }

// ReadScope reads the header of a group of spans.
func (r *Proto) ReadScope(text []byte) error { return r.read(text, r.parseScope) }

// EmitResource reads a resource and hands it out.
func (r *Proto) EmitResource(text []byte) error {
	err := r.ReadResource(text)
	if err == nil {
		r.Emit(op.Record{Resource: &r.Resource}, nil)
	}
	return err
}

// read reads a message.
func (r *Proto) read(text []byte, parse func(message)) error {
	r.msg.reset(text)
	parse(&r.msg)
	return r.msg.err
}

// ReadScopeSpans reads a ScopeSpans message.
func (r *Proto) ReadScopeSpans(text []byte) error {
	w := wire{buf: text}
	r.Scope = op.Scope{}
	if b, err := header(w); err != nil || b != nil && r.ReadScope(b) != nil {
		return cmp.Or(err, r.msg.err)
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
			w.err = r.ReadSpan(b)
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
		w.passList()
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
