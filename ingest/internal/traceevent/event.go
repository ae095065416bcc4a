package traceevent

import (
	"bytes"
	"encoding/binary"

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
	// Thread is the thread of a source whose TID is a track, negative if there is none. It is unknown in JSON.
	Thread op.Int
	// Start and Duration are in nanoseconds. The writer chooses the origin of Start.
	Start, Duration op.Int
	// Args is the text of a JSON object, nil if missing.
	Args []byte
	// ArgsRead is set if the function given to ReadArgs has read Args.
	ArgsRead bool
}

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

func (d *decoder) micros(field string, msg *string) op.Int {
	l := &d.lex
	if l.Null() {
		return op.Int{}
	}
	read := l.Number
	problem := " does not fit 64 bits of nanoseconds"
	if l.Peek() == '"' { // rocprof and torch_npu quote times
		read = l.Str
		problem = " is no number"
	}
	text := read()
	if l.Err() != nil {
		return op.Int{}
	}
	ns, ok := lexer.ParseMicros(text)
	if !ok {
		*msg = field + problem
		return op.Int{}
	}
	return op.Known(ns)
}

// straight reads the event at the start of b in one pass and returns the length of its text. It returns -1 if the event
// is incomplete, invalid or written in an unusual way, such as with escapes in a key. decode reads any event with the
// same result.
func (d *decoder) straight(b []byte) (size int) {
	if !lexer.Has(b, 0, "{") {
		return -1
	}
	d.event = Event{}
	i := lexer.Space(b, 1)
	for more := true; more; {
		i = d.straightMember(b, i)
		i, more = lexer.Next(b, i, '}')
	}
	if i > jsonstream.MaxElement {
		return -1
	}
	return i
}

// The first three or four bytes behind the opening quote of a member, as a little-endian word.
const (
	keyPhase    = 'p' | 'h'<<8 | '"'<<16
	keyStart    = 't' | 's'<<8 | '"'<<16
	keyCategory = 'c' | 'a'<<8 | 't'<<16 | '"'<<24
	keyProcess  = 'p' | 'i'<<8 | 'd'<<16 | '"'<<24
	keyThread   = 't' | 'i'<<8 | 'd'<<16 | '"'<<24
	keyDuration = 'd' | 'u'<<8 | 'r'<<16 | '"'<<24
	keyName     = 'n' | 'a'<<8 | 'm'<<16 | 'e'<<24
	keyArgs     = 'a' | 'r'<<8 | 'g'<<16 | 's'<<24
)

func (d *decoder) straightMember(b []byte, i int) int {
	if i < 0 || len(b)-i < len(`"name":""`) || b[i] != '"' {
		return -1
	}
	e := &d.event
	word := binary.LittleEndian.Uint32(b[i+1:])
	switch word & 0xffffff {
	case keyPhase:
		i = lexer.Colon(b, i+4)
		if !lexer.Has(b, i, `"`) || i+2 >= len(b) || b[i+1] <= ' ' || b[i+1] == '\\' || b[i+1] == '"' || b[i+2] != '"' {
			return -1
		}
		e.Phase = b[i+1]
		return i + 3
	case keyStart:
		e.Start, i = straightMicros(b, lexer.Colon(b, i+4))
		return i
	}
	switch word {
	case keyDuration:
		e.Duration, i = straightMicros(b, lexer.Colon(b, i+5))
		return i
	case keyCategory:
		e.Category, i = d.straightText(b, lexer.Colon(b, i+5), &d.category)
		return i
	case keyProcess:
		e.PID, i = straightID(b, lexer.Colon(b, i+5))
		return i
	case keyThread:
		e.TID, i = straightID(b, lexer.Colon(b, i+5))
		return i
	case keyName:
		if b[i+5] == '"' {
			e.Name, i = d.straightText(b, lexer.Colon(b, i+6), &d.name)
			return i
		}
	case keyArgs:
		if b[i+5] == '"' {
			return d.straightArgs(b, lexer.Colon(b, i+6))
		}
	}
	_, i = lexer.Member(b, i)
	return lexer.Value(b, i)
}

// straightText reads a string. It uses buf to unescape it.
func (d *decoder) straightText(b []byte, i int, buf *[]byte) (text []byte, end int) {
	if text, end = lexer.Quoted(b, i); end >= 0 || !lexer.Has(b, i, `"`) {
		return text, end
	}
	if end = lexer.Value(b, i); end < 0 {
		return nil, -1
	}
	d.lex.Reset(b[i:end])
	*buf = append((*buf)[:0], d.lex.Str()...)
	return *buf, end
}

func straightMicros(b []byte, i int) (ns op.Int, end int) {
	if v, end := lexer.Micros(b, i); end >= 0 {
		return op.Known(v), end // the caller refuses an exponent behind it
	}
	if end = lexer.Value(b, i); end < 0 {
		return op.Int{}, -1
	}
	v, ok := lexer.ParseMicros(bytes.Trim(b[i:end], `"`))
	if !ok {
		return op.Int{}, -1
	}
	return op.Known(v), end
}

func straightID(b []byte, i int) (text []byte, end int) {
	end = lexer.Value(b, i)
	if end < 0 {
		return nil, -1
	}
	return b[i:end], end
}

func (d *decoder) straightArgs(b []byte, i int) int {
	if !lexer.Has(b, i, "{") {
		return -1
	}
	e := &d.event
	end := -1
	if d.readArgs != nil {
		end = d.readArgs(e, b, i)
	}
	e.ArgsRead = end >= 0
	if end < 0 {
		end = lexer.Value(b, i)
	}
	if end >= 0 {
		e.Args = b[i:end]
	}
	return end
}
