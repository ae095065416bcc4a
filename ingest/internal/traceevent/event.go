package traceevent

import (
	"github.com/optrace/optrace/internal/text/jsonstream"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// Event is one event. The reader owns the slices; they are valid until the next event.
type Event struct {
	// Phase is the kind of event: 'X' for a span with start and duration, 'B' and 'E' for its two ends; 0 if missing.
	Phase byte
	// Category and Name are empty if missing.
	Category, Name []byte
	// PID and TID are JSON text, a number or a string.
	PID, TID []byte
	// Start and Duration are in nanoseconds. The writer chooses the origin of Start.
	Start, Duration op.Int
	// Args is the text of a JSON object, nil if missing.
	Args []byte
	// ArgsRead is set if the function given to ReadArgs has read Args.
	ArgsRead bool
}

// decoder reads events.
type decoder struct {
	lex            lexer.Lexer
	event          Event
	category, name []byte // the buffers behind the event's
	readArgs       func(e *Event, text []byte, i int) (end int)
}

// decode reads an event in any form from the stream's last value.
func (d *decoder) decode(text []byte, stream *jsonstream.Reader) (*Event, error) {
	l := &d.lex
	msg := ""
	l.Reset(text)
	d.event = Event{}
	e := &d.event
	for l.Object(); l.More(); {
		key := l.Key()
		switch string(key) {
		case "ph":
			if s := l.AnyStr(); len(s) > 0 {
				e.Phase = s[0]
			}
		case "cat":
			d.category = append(d.category[:0], l.AnyStr()...)
			e.Category = d.category
		case "name":
			d.name = append(d.name[:0], l.AnyStr()...)
			e.Name = d.name
		case "pid":
			e.PID = l.Raw()
		case "tid":
			e.TID = l.Raw()
		case "ts":
			e.Start = d.micros("ts", &msg)
		case "dur":
			e.Duration = d.micros("dur", &msg)
		case "args":
			if l.Peek() == '{' {
				e.Args = l.Raw()
			} else {
				l.Skip()
			}
		default:
			l.Skip()
		}
	}
	l.End()
	switch {
	case l.Err() != nil:
		return nil, stream.LexerError(l)
	case msg != "":
		return nil, stream.SyntaxError(0, msg)
	}
	return e, nil
}

// micros reads a number of microseconds; null is unknown.
func (d *decoder) micros(field string, msg *string) op.Int {
	l := &d.lex
	if l.Null() {
		return op.Int{}
	}
	text := l.Number()
	if l.Err() != nil {
		return op.Int{}
	}
	ns, ok := lexer.ParseMicros(text)
	if !ok {
		*msg = field + " does not fit 64 bits of nanoseconds"
		return op.Int{}
	}
	return op.Known(ns)
}
