package kineto

import (
	"strings"

	"github.com/optrace/optrace/internal/intern"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// arguments holds the arguments of one of Kineto's events. It is reused
// from event to event.
type arguments struct {
	lex   jsontext.Lexer
	texts intern.Table
	keys  argumentKeys

	// values are those of the event; the slices are reused.
	values
	// extra is a JSON object of the other arguments that the mapping wants, and geometry one of
	// those about the launch of a kernel that it does not.
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

	// dims and types are the JSON text of the inputs' shapes and types, concrete that of
	// those that are given by value.
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
		l.Peek()
		start := l.Offset()
		a.value(key.argument)
		a.keep(key, text[start:l.Offset()])
	}
	a.finishCollective()
}

// value reads the value of an argument.
func (a *arguments) value(key argument) {
	l := &a.lex
	switch key {
	case argOther, argGeometry, argGraph:
		l.Skip()
	case argDims:
		a.dims = l.Raw()
	case argTypes:
		a.types = l.Raw()
	case argConcrete:
		a.concrete = l.Raw()
	case argName, argGroup, argDType:
		a.setText(key, a.text())
	default:
		a.setInt(key, readInt(l))
	}
}

// text reads a string; of any other value it takes nothing.
func (a *arguments) text() string {
	if a.lex.Peek() == '"' {
		return a.valid(a.lex.Str())
	}
	a.lex.Skip()
	return ""
}

// valid returns a text with U+FFFD in the place of what is no UTF-8.
func (a *arguments) valid(text []byte) string {
	return strings.ToValidUTF8(a.texts.String(text), "\ufffd")
}

// setText sets an argument that is a text.
func (a *arguments) setText(key argument, s string) {
	c := &a.collective
	switch key {
	case argName:
		c.Name = s
	case argGroup:
		c.Group = s
	case argDType:
		if d, ok := op.ParseDType(s); ok {
			c.dtype = d
		}
	}
}

// setInt sets an argument that is an integer, and in some cases cannot be negative.
func (a *arguments) setInt(key argument, n op.Int) {
	c := &a.collective
	switch key {
	case argCorrelation:
		a.correlation = n
	case argExternal:
		a.external = n
	case argDevice:
		a.device = n
	case argStream:
		a.stream = n
	case argSequence:
		c.Sequence = n
	case argBytes:
		a.bytes = count(n)
	case argSize:
		a.size = count(n)
	case argGroupSize:
		c.GroupSize = count(n)
	case argInElements:
		c.InElements = count(n)
	case argOutElements:
		c.OutElements = count(n)
	case argRank:
		a.peer = count(n)
	case argSource:
		a.source = count(n)
	case argTarget:
		a.target = count(n)
	case argAutograd:
		a.autograd = count(n)
	case argForward:
		a.forward = count(n)
	}
}

// finishCollective completes the collective. Without a name the arguments are
// not about one.
func (a *arguments) finishCollective() {
	c := &a.collective
	switch c.Name {
	case "":
		*c = collective{}
	case "send":
		c.PeerRank = firstKnown(a.target, a.peer)
	case "recv":
		c.PeerRank = firstKnown(a.source, a.peer)
	}
}

func firstKnown(a, b op.Int) op.Int {
	if a.Known {
		return a
	}
	return b
}

// keep appends an argument to extra or geometry, if it is one of theirs: that the mapping wants
// it does not change its meaning here.
func (a *arguments) keep(key *argumentKey, value []byte) {
	switch {
	case key.wanted:
		a.extra = appendMember(a.extra, key.name, value)
	case key.argument == argGeometry, key.argument == argGraph && string(value) != "0":
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
	object = jsontext.AppendString(object, key)
	object = append(object, ':')
	object = append(object, value...)
	return append(object, '}')
}
