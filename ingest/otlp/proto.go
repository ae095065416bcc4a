package otlp

import (
	"github.com/optrace/optrace/internal/intern"
	"github.com/optrace/optrace/op"
)

// protoReader walks messages held in memory.
type protoReader struct {
	*decoder
	yield      yieldFunc
	attributes attributeTable
	texts      intern.Short // of valid UTF-8
	json       []byte       // of a value
	whole      *protoReader // see ReadWhole
	stopped    bool         // the caller wants no more records
}

// emit hands a record out, and notes when no more are wanted.
func (r *protoReader) emit(rec op.Record, err error) {
	if !r.stopped && !r.yield(rec, err) {
		r.stopped = true
	}
}

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

// traces reads a TracesData message.
func (r *protoReader) traces(w wire) error {
	for w.next() && !r.stopped {
		if w.field == fieldProfilesDictionary {
			r.emit(ofSignal("profiles"), nil)
		}
		if w.field != fieldTracesResourceSpans {
			w.skip()
			continue
		}
		m := w.message()
		if w.err == nil {
			w.err = r.otherSignal(r.resourceSpans(m))
		}
	}
	return w.err
}

// resourceSpans reads a ResourceSpans message. Fields may come in any order:
// the resource is read first.
func (r *protoReader) resourceSpans(w wire) error {
	r.resource = op.Resource{}
	if err := header(w, r.readResource); err != nil {
		return err
	}
	for w.next() && !r.stopped {
		if w.field != fieldGroupList {
			w.skip()
			continue
		}
		m := w.message()
		if w.err == nil {
			w.err = r.scopeSpans(m)
		}
	}
	return w.err
}

// readResource reads a resource and hands it out.
func (r *protoReader) readResource(w wire) error {
	if err := r.parseResource(w); err != nil {
		return err
	}
	r.emit(op.Record{Resource: &r.resource}, nil)
	return nil
}

// scopeSpans reads a ScopeSpans message.
func (r *protoReader) scopeSpans(w wire) error {
	r.scope = op.Scope{}
	if err := header(w, r.parseScope); err != nil {
		return err
	}
	for !r.stopped {
		b := w.element()
		if b == nil {
			if !w.next() {
				break
			}
			if w.field != fieldGroupList {
				w.skip()
				continue
			}
			b = w.bytes()
		}
		if w.err == nil {
			w.err = r.readSpan(b)
		}
	}
	return w.err
}

// readSpan reads a span and hands it out.
func (r *protoReader) readSpan(b []byte) error {
	if !r.canonicalSpan(b) {
		err := r.parseSpan(wire{buf: b})
		if err != nil || r.fields.badID {
			if signal := signalOf(b); signal != "" {
				return signalError(signal)
			}
		}
		if err != nil {
			return err
		}
	}
	e, s := r.end()
	var whole op.WholeReader
	if r.omits && e != nil {
		r.span, whole = b, r
	}
	r.emit(op.Record{Entry: e, Span: s, Whole: whole}, nil)
	return nil
}

// ReadWhole implements [op.WholeReader] for the last span.
func (r *protoReader) ReadWhole() *op.Entry {
	if r.whole == nil {
		r.whole = &protoReader{decoder: wholeDecoder(r.decoder)}
	}
	r.whole.follow(r.decoder)
	_ = r.whole.parseSpan(wire{buf: r.span}) // was read without an error before
	e, _ := r.whole.end()
	return e
}

// header reads the header of a group, wherever it stands in the message: first
// where an encoder wrote it, else it is looked for, passing over the list. A
// second one is not looked for behind a first.
func header(w wire, read func(wire) error) error {
	for {
		w.passList()
		if !w.next() {
			break
		}
		if w.field != fieldGroupHeader {
			w.skip()
			continue
		}
		m := w.message()
		if w.err == nil {
			w.err = read(m)
		}
		break
	}
	return w.err
}
