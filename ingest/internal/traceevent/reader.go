// Package traceevent reads the container of Chrome's tracing, shared by several profilers: a JSON array of events,
// alone or as the member traceEvents of an object. The writer defines the meaning of an event.
package traceevent

import (
	"bytes"
	"encoding/binary"
	"io"
	"iter"
	"regexp"
	"slices"

	"github.com/optrace/optrace/internal/text/jsonstream"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

const argsDepth = 2 // the number of brackets around the arguments of an event

// starts matches where reading goes on behind damage: a document, and an event or the end of the events.
var starts = regexp.MustCompile(`(\{\s*"(?:traceEvents|` + members + `)"\s*:|\n\[\s*` + event + `)|(` + event +
	`|\]\s*,\s*"(?:` + members + `)"\s*:)`)

const (
	members = `schemaVersion|deviceProperties|distributedInfo|displayTimeUnit|traceName|baseTimeNanoseconds|` +
		`otherData|metadata`
	event = `\{\s*"(?:ph|cat|name|pid|tid|ts|dur|id|args|bp|s|tts|cname)"\s*:`
)

// Reader reads the events of the documents of a file. It is not safe for concurrent use.
type Reader struct {
	stream  *jsonstream.Reader
	dec     decoder
	wanted  []string
	members map[string][]byte // of the document

	documents int // so far
}

// NewReader returns a Reader of src. name names src in errors. The reader keeps the wanted members of the document.
// Call Next in front of each document.
func NewReader(src io.Reader, name string, wanted ...string) *Reader {
	r := &Reader{stream: jsonstream.NewReader(src, name), wanted: wanted, members: make(map[string][]byte)}
	r.stream.Resume(starts, argsDepth)
	return r
}

// Member returns the JSON text of a wanted member, nil until the reader has met it. Members may precede or follow the
// events.
func (r *Reader) Member(key string) []byte { return r.members[key] }

// ReadArgs sets a function that reads the arguments of an event at text[i] and returns the index behind them, or -1
// without effect. It gets the event so far. The reader calls it for events read in one pass, to save a second pass over
// the arguments.
func (r *Reader) ReadArgs(read func(e *Event, text []byte, i int) (end int)) { r.dec.readArgs = read }

// Err returns the error that ended the reading early, or nil. An *[op.SyntaxError] is about the document, any other
// error from the source.
func (r *Reader) Err() error {
	if damage := r.stream.Damage(); damage != nil && r.stream.Err() == nil {
		return damage
	}
	return r.stream.Err()
}

// RecordError returns an error about the last event.
func (r *Reader) RecordError(msg string) *op.SyntaxError {
	err := r.stream.SyntaxError(0, msg)
	err.Class = op.ErrorRecord
	return err
}

// Next goes to the next document and reports whether there is one, true for the first in any case. Documents have times,
// ids and members of their own.
func (r *Reader) Next() bool {
	s := r.stream
	first := r.documents == 0
	more := s.Next()
	if c := s.Peek(); more && !first && c != '{' && c != '[' {
		s.End()
		more = s.Next()
	}
	if !more && !first {
		return false
	}
	r.documents++
	clear(r.members)
	return true
}

// Events yields each event of the document, or an *[op.SyntaxError] for a bad one. Err returns the error that ended it
// early.
func (r *Reader) Events() iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		if err := r.stream.Damage(); err != nil && !yield(nil, err) {
			return
		}
		if r.stream.Peek() == '[' {
			r.elements(yield)
		} else {
			r.object(yield, true)
		}
	}
}

// object yields the events of an object. One tool writes its trace as the member traceEvents of another object.
func (r *Reader) object(yield func(*Event, error) bool, outer bool) bool {
	s := r.stream
	start := s.Position()
	found := r.documents == 1
	for s.Object(); s.More(); {
		switch key := string(s.Key()); {
		case key == "traceEvents":
			found = true
			if outer && s.Peek() == '{' {
				if !r.object(yield, false) {
					return false
				}
			} else if !r.elements(yield) {
				return false
			}
		case slices.Contains(r.wanted, key):
			text, err := s.Value()
			if s.Err() != nil {
				return true
			}
			if err != nil && !yield(nil, err) {
				return false
			}
			r.members[key] = slices.Clone(text)
		default:
			s.Skip()
		}
	}
	if found || s.Err() != nil {
		return true
	}
	err := r.RecordError("document without events")
	err.Offset = start
	return yield(nil, err)
}

// elements yields the events of the next array and reports whether the consumer wants more.
func (r *Reader) elements(yield func(*Event, error) bool) bool {
	s := r.stream
	for s.List(1); s.More(); {
		if size := r.dec.straight(s.Buffered()); 0 <= size && size <= jsonstream.Large {
			s.Pass(size)
			if !yield(&r.dec.event, nil) {
				return false
			}
			continue
		}
		text, err := s.Element()
		if s.Err() != nil {
			return true
		}
		var event *Event
		if err == nil {
			event, err = r.dec.decode(text, s)
		}
		if !yield(event, err) {
			return false
		}
	}
	return true
}

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
	Args            []byte // the text of a JSON object, nil if missing
	ArgsRead        bool   // set if the function given to ReadArgs has read Args
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
