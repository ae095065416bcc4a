package kineto

import (
	"bytes"

	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// straight reads the args object at b[i] in one pass and returns the index behind it,
// or -1 where it is not valid or is written in an unusual way: parse reads it then, to
// the same effect.
func (a *arguments) straight(b []byte, i int) int {
	a.reset()
	i = jsontext.Space(b, i+1)
	for more := true; more; {
		var name []byte
		name, i = jsontext.Member(b, i)
		if i < 0 {
			return -1
		}
		key, start := a.keys.find(name), i
		if i = a.straightValue(key.argument, b, i); i < 0 {
			return -1
		}
		a.keep(key, b[start:i])
		i, more = jsontext.Next(b, i, '}')
	}
	a.finishCollective()
	return i
}

// straightValue reads the value of an argument and returns the index behind it, or -1.
func (a *arguments) straightValue(key argument, b []byte, i int) int {
	if key == argOther || key == argGeometry || key == argGraph {
		return jsontext.Value(b, i)
	}
	end := jsontext.Value(b, i)
	if end < 0 {
		return -1
	}
	text := b[i:end]
	switch key {
	case argDims:
		a.dims = text
	case argTypes:
		a.types = text
	case argConcrete:
		a.concrete = text
	case argName, argGroup, argDType:
		s, ok := plain(text)
		if !ok {
			return -1
		}
		a.setText(key, a.valid(s))
	default:
		n, ok := integer(text)
		if !ok {
			return -1
		}
		a.setInt(key, n)
	}
	return end
}

// plain returns what stands between the quotes of a string without escapes. Any other
// value has no text.
func plain(value []byte) (text []byte, ok bool) {
	if value[0] != '"' {
		return nil, true
	}
	text = value[1 : len(value)-1]
	return text, bytes.IndexByte(text, '\\') < 0
}

// integer returns the integer that is a value, or stands between its quotes.
func integer(value []byte) (n op.Int, ok bool) {
	switch c := value[0]; {
	case c == '"':
		text, ok := plain(value)
		return parseInt(text), ok
	case c == '-' || '0' <= c && c <= '9':
		return parseInt(value), true
	}
	return op.Int{}, true
}
