package kineto

import (
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// arguments holds the arguments of one of Kineto's events. It is reused
// from event to event.
type arguments struct {
	lex jsontext.Lexer

	correlation, external op.Int
	device, stream        op.Int
	bytes                 op.Int // of a copy or set on the device
	size                  op.Int // of the call that launches it
	collective            collective
	peer, source, target  op.Int // ranks in the arguments of a send or receive

	// dims and types are the JSON text of the inputs' shapes and types.
	dims, types []byte
	// extra is a JSON object of the other arguments that the mapping wants.
	extra []byte

	wants  func(key string) bool
	wanted map[string]bool // answers of wants
}

// maxWanted bounds how many keys' answers are remembered.
const maxWanted = 1024

// parse reads the text of an args object that is valid JSON; nil has none.
func (a *arguments) parse(text []byte) {
	*a = arguments{lex: a.lex, extra: a.extra[:0], wants: a.wants, wanted: a.wanted}
	if text == nil {
		return
	}
	l := &a.lex
	l.Reset(text)
	for l.Object(); l.More(); {
		key := l.Key()
		if a.wantsKey(key) {
			a.keep(key, text)
			continue
		}
		a.argument(key)
	}
	a.finishCollective()
}

// argument reads the value behind one of the keys of Kineto.
func (a *arguments) argument(key []byte) {
	l := &a.lex
	c := &a.collective
	switch string(key) {
	case "correlation":
		a.correlation = readInt(l)
	case "External id", "external id":
		a.external = readInt(l)
	case "device":
		a.device = readInt(l)
	case "stream":
		a.stream = readInt(l)
	case "bytes":
		a.bytes = readCount(l)
	case "size":
		a.size = readCount(l)
	case "Input Dims", "Input dims":
		a.dims = l.Raw()
	case "Input type":
		a.types = l.Raw()
	case "Collective name":
		c.Name = readText(l)
	case "Process Group Name":
		c.Group = readText(l)
	case "Group size":
		c.GroupSize = readCount(l)
	case "Seq":
		c.Sequence = readInt(l)
	case "In msg nelems":
		c.InElements = readCount(l)
	case "Out msg nelems":
		c.OutElements = readCount(l)
	case "dtype":
		if d, ok := op.ParseDType(readText(l)); ok {
			c.dtype = d
		}
	case "Rank":
		a.peer = readCount(l)
	case "Src Rank":
		a.source = readCount(l)
	case "Dst Rank":
		a.target = readCount(l)
	default:
		l.Skip()
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

// wantsKey reports whether the mapping asks for an argument. "device" is one
// of its keys, but Kineto's meaning of it prevails.
func (a *arguments) wantsKey(key []byte) bool {
	if string(key) == "device" {
		return false
	}
	want, ok := a.wanted[string(key)]
	if !ok {
		if a.wanted == nil || len(a.wanted) >= maxWanted {
			a.wanted = make(map[string]bool)
		}
		want = a.wants(string(key))
		a.wanted[string(key)] = want
	}
	return want
}

// keep appends the argument that comes next in text to extra, and reads it as
// well: that the mapping wants an argument does not change its meaning here.
func (a *arguments) keep(key, text []byte) {
	l := &a.lex
	if len(a.extra) == 0 {
		a.extra = append(a.extra, '{')
	} else {
		a.extra[len(a.extra)-1] = ','
	}
	a.extra = jsontext.AppendString(a.extra, string(key))
	a.extra = append(a.extra, ':')
	name := string(key)
	l.Peek()
	start := l.Offset()
	a.argument([]byte(name))
	a.extra = append(a.extra, text[start:l.Offset()]...)
	a.extra = append(a.extra, '}')
}
