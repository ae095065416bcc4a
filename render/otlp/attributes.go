package otlp

import (
	"bytes"
	"strconv"

	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// attributes appends attributes to a text, each followed by a comma.
type attributes struct {
	buf  []byte
	lex  jsontext.Lexer // of the value of an attribute
	text []byte         // the value
}

var _ attrmap.Sink = (*attributes)(nil)

// end returns the text without the comma after the last attribute.
func (l *attributes) end() []byte { return bytes.TrimSuffix(l.buf, []byte{','}) }

func (l *attributes) Str(key, value string) {
	l.key(key)
	l.buf = jsontext.AppendString(append(l.buf, `{"stringValue":`...), value)
	l.buf = append(l.buf, "}},"...)
}

func (l *attributes) Int(key string, value int64) {
	l.key(key)
	l.buf = strconv.AppendInt(append(l.buf, `{"intValue":"`...), value, 10)
	l.buf = append(l.buf, `"}},`...)
}

// known appends an integer if it is known.
func (l *attributes) known(key string, n op.Int) {
	if n.Known {
		l.Int(key, n.V)
	}
}

func (l *attributes) DTypes(key string, list []op.DType) {
	l.key(key)
	l.array(len(list), func(i int) {
		l.buf = append(jsontext.AppendString(append(l.buf, `{"stringValue":`...), string(list[i])), '}')
	})
	l.buf = append(l.buf, "},"...)
}

func (l *attributes) Shape(key string, shape op.Shape) {
	l.key(key)
	l.dims(shape)
	l.buf = append(l.buf, "},"...)
}

// Shapes writes an empty value for a shape that could not be read.
func (l *attributes) Shapes(key string, list []op.Shape) {
	l.key(key)
	l.array(len(list), func(i int) {
		if list[i] == nil {
			l.buf = append(l.buf, "{}"...)
		} else {
			l.dims(list[i])
		}
	})
	l.buf = append(l.buf, "},"...)
}

func (l *attributes) key(key string) {
	l.buf = jsontext.AppendString(append(l.buf, `{"key":`...), key)
	l.buf = append(l.buf, `,"value":`...)
}

func (l *attributes) dims(s op.Shape) {
	l.array(len(s), func(i int) {
		l.buf = append(strconv.AppendInt(append(l.buf, `{"intValue":"`...), s[i], 10), `"}`...)
	})
}

// array appends a list of n values, each of which element appends.
func (l *attributes) array(n int, element func(i int)) {
	l.buf = append(l.buf, `{"arrayValue":{"values":[`...)
	for i := range n {
		if i > 0 {
			l.buf = append(l.buf, ',')
		}
		element(i)
	}
	l.buf = append(l.buf, "]}}"...)
}
