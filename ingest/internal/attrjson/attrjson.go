// Package attrjson gives plain JSON values to an attrmap.Builder as attributes. The lexer reports invalid JSON.
package attrjson

import (
	"bytes"
	"encoding/json"

	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

// Feeder feeds a builder. It interns keys and texts. It is not safe for concurrent use.
type Feeder struct {
	build   *attrmap.Builder
	strings intern.Table
}

// NewFeeder returns a Feeder of b.
func NewFeeder(b *attrmap.Builder) *Feeder { return &Feeder{build: b} }

// Object adds the members of the next object in l.
func (f *Feeder) Object(l *lexer.Lexer) {
	for l.Object(); l.More(); {
		f.Member(l, l.Key())
	}
}

// Member adds the next value in l with a key.
func (f *Feeder) Member(l *lexer.Lexer, key []byte) { f.Value(l, f.strings.String(key)) }

// Value adds the next value in l. It ignores null.
func (f *Feeder) Value(l *lexer.Lexer, key string) {
	b := f.build
	t := f.build.Target(key)
	c := l.Peek()
	switch {
	case c == 'n':
		l.Null()
	case c == '{', !t.Wanted():
		if t.Kept() {
			b.SetRaw(t, op.AttrJSON, f.compact(l.Raw()))
			return
		}
		l.Skip()
		b.SetOther(t)
	case c == '"':
		b.SetStr(t, f.strings.String(l.Str()))
	case c == 't', c == 'f':
		b.SetBool(t, l.Bool())
	case c == '[':
		text := l.Raw()
		if t.Kept() {
			text = f.compact(text)
		}
		b.SetList(t, text)
	default:
		number := l.Number()
		if n, ok := scalar.ParseInt(number); ok {
			b.SetInt(t, n)
		} else if v, ok := scalar.ParseFloat(number); ok {
			b.SetFloat(t, v)
		} else {
			b.SetOther(t)
		}
	}
}

func (f *Feeder) compact(text []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}
