package kineto

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// arguments holds the arguments of one of Kineto's events. It is reused from event to event.
type arguments struct {
	lex      lexer.Lexer
	unescape lexer.Lexer // of a text
	texts    intern.Table
	keys     argumentKeys

	// values are those of the event; the slices are reused.
	values
	// extra is a JSON object of the other arguments that the mapping wants, and geometry one of those about the launch
	// of a kernel that it does not.
	extra, geometry []byte
}

// values are the arguments of an event that matter to Kineto.
type values struct {
	correlation, external op.Int
	device, stream        op.Int
	bytes                 op.Int // of a copy or set on the device
	size                  op.Int // of the call that launches it
	collective            collective
	peer, source, target  op.Int // ranks in the arguments of a send or receive
	autograd, forward     op.Int // the number of autograd, and the thread of the forward operator

	// dims and types are the JSON text of the inputs' shapes and types, concrete that of those that are given by value.
	dims, types, concrete []byte
}

// reset forgets the arguments of the event before.
func (a *arguments) reset() {
	a.values = values{}
	a.extra, a.geometry = a.extra[:0], a.geometry[:0]
}

// parse reads the text of an args object that is valid JSON; nil has none.
func (a *arguments) parse(text []byte) {
	a.reset()
	if text == nil {
		return
	}
	l := &a.lex
	l.Reset(text)
	for l.Object(); l.More(); {
		key := a.keys.find(l.Key())
		if value := l.Raw(); value != nil {
			a.set(key, value)
		}
	}
	a.finishCollective()
}

// straight reads the args object at b[i] in one pass and returns the index behind it, or -1 where it is not valid or is
// written in an unusual way: parse reads it then, to the same effect.
func (a *arguments) straight(b []byte, i int) int {
	a.reset()
	i = lexer.Space(b, i+1)
	for more := true; more; {
		name, start := lexer.Member(b, i)
		if i = lexer.Value(b, start); i < 0 {
			return -1
		}
		a.set(a.keys.find(name), b[start:i])
		i, more = lexer.Next(b, i, '}')
	}
	a.finishCollective()
	return i
}

// set sets an argument to a value, which is valid JSON.
func (a *arguments) set(key *argumentKey, value []byte) {
	switch {
	case key.json != nil:
		*key.json(a) = value
	case key.text != nil:
		key.text(&a.collective, strings.ToValidUTF8(a.texts.String(a.text(value)), "\ufffd"))
	case key.number != nil:
		n := parseInt(value)
		if value[0] == '"' {
			n = parseInt(a.text(value))
		}
		if key.counts {
			n = count(n)
		}
		*key.number(a) = n
	}
	a.keep(key, value)
}

// text returns what stands between the quotes of a string; any other value has no text.
func (a *arguments) text(value []byte) []byte {
	if value[0] != '"' {
		return nil
	}
	text := value[1 : len(value)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		a.unescape.Reset(value)
		return a.unescape.Str()
	}
	return text
}

// finishCollective completes the collective. Without a name the arguments are not about one.
func (a *arguments) finishCollective() {
	c := &a.collective
	switch c.Name {
	case "":
		*c = collective{}
	case "send":
		c.PeerRank = cmp.Or(a.target, a.peer)
	case "recv":
		c.PeerRank = cmp.Or(a.source, a.peer)
	}
}

// keep appends an argument to extra or geometry, if it is one of theirs: that the mapping wants it does not change its
// meaning here.
func (a *arguments) keep(key *argumentKey, value []byte) {
	switch {
	case key.wanted:
		a.extra = appendMember(a.extra, key.name, value)
	case key.geometry && (!key.graph || string(value) != "0"):
		a.geometry = appendMember(a.geometry, key.name, value)
	}
}

// appendMember adds a member to a JSON object that has no space in it, or makes one of no text.
func appendMember(object []byte, key string, value []byte) []byte {
	if len(object) == 0 {
		object = append(object, '{')
	} else {
		object[len(object)-1] = ','
	}
	object = lexer.AppendString(object, key)
	object = append(object, ':')
	object = append(object, value...)
	return append(object, '}')
}

func parseInt(text []byte) op.Int {
	n, ok := lexer.ParseInt(text)
	if !ok {
		return op.Int{}
	}
	return op.Known(n)
}

// readCount reads an integer that cannot be negative, or one in quotes; anything else is unknown.
func readCount(l *lexer.Lexer) op.Int {
	if l.Peek() == '"' {
		return count(parseInt(l.Str()))
	}
	return count(parseInt(l.AnyNumber()))
}

// count returns an integer that cannot be negative.
func count(n op.Int) op.Int {
	if n.V < 0 {
		return op.Int{}
	}
	return n
}
