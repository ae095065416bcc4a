package spans

import (
	"encoding/base64"

	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/protobuf"
	"github.com/optrace/optrace/internal/text/scalar"
)

// JSON reads the next messages in a lexer.
type JSON struct {
	*Decoder
	msg        jsonMessage
	attributes attributeTable
}

// NewJSON returns a reader of messages in l. It hands the records to d.
func NewJSON(d *Decoder, l *lexer.Lexer) *JSON {
	return &JSON{Decoder: d, msg: jsonMessage{Lexer: l}}
}

// ReadResource reads the header of a group of scopes.
func (r *JSON) ReadResource() { r.parseResource(&r.msg) }

// ReadScope reads the header of a group of spans.
func (r *JSON) ReadScope() { r.parseScope(&r.msg) }

// ReadSpan reads a span in any encoding. EmitSpan yields it.
func (r *JSON) ReadSpan() { r.parseSpan(&r.msg) }

// jsonMessage is a [message] in JSON: the next value in a lexer.
type jsonMessage struct {
	*lexer.Lexer
	field int
}

func (m *jsonMessage) open() (outer int) {
	m.Object()
	return 0
}

func (m *jsonMessage) more(_ int, s schema) bool {
	for m.More() {
		if m.field = s[string(m.Key())]; m.field != 0 {
			return true
		}
		m.Skip()
	}
	return false
}

func (m *jsonMessage) number() int    { return m.field }
func (m *jsonMessage) failure() error { return m.Err() }
func (m *jsonMessage) null() bool     { return m.Null() }
func (m *jsonMessage) skip()          { m.Skip() }
func (m *jsonMessage) bytes() []byte  { return m.Str() }

func (m *jsonMessage) element(first bool) bool {
	if first {
		if m.Null() {
			return false
		}
		m.Array()
	}
	return m.More()
}

func (m *jsonMessage) base64(dst []byte) (text []byte, ok bool) {
	if m.Peek() != '"' {
		m.Skip()
		return dst, false
	}
	return append(dst, m.Str()...), true
}

func (m *jsonMessage) id(dst []byte) (ok bool) {
	clear(dst)
	if m.Null() {
		return true
	}
	text := m.Str()
	return len(text) == 0 || scalar.ParseID(dst, text) || parseBase64ID(dst, text)
}

// parseBase64ID parses an id in base64, as protobuf's own JSON has it, or the base64 of its hexadecimal digits.
func parseBase64ID(dst, text []byte) (ok bool) {
	var room [64]byte
	b, err := base64.StdEncoding.AppendDecode(room[:0], text)
	if err != nil {
		return false
	}
	if len(b) == len(dst) {
		copy(dst, b)
		return true
	}
	return scalar.ParseID(dst, b)
}

func (m *jsonMessage) integer() (int64, bool) {
	return scalar.ParseInt(m.numberText())
}

func (m *jsonMessage) double() (float64, bool) {
	return scalar.ParseFloat(m.numberText())
}

// numberText reads a number, also a quoted one, and returns its text, nil for any other value.
func (m *jsonMessage) numberText() []byte {
	if m.Peek() == '"' {
		return m.Str()
	}
	return m.AnyNumber()
}

func (m *jsonMessage) boolean() (v, ok bool) {
	if c := m.Peek(); c == 't' || c == 'f' {
		return m.Bool(), true
	}
	m.Skip()
	return false, false
}

// count reads a number of dropped things. A negative one is no count.
func (m *jsonMessage) count() int64 {
	n, _ := m.integer()
	return int64(uint32(max(0, n)))
}

func (m *jsonMessage) flags() uint32 {
	n, _ := m.integer()
	return uint32(n)
}

func (m *jsonMessage) time() (ns uint64, ok bool) {
	n, ok := m.integer()
	if !ok || n < 0 {
		return 0, false
	}
	return uint64(n), true
}

func (m *jsonMessage) enum(names []string) int64 {
	if m.Peek() != '"' {
		n, _ := m.integer()
		return n
	}
	text := m.Str()
	for n, name := range names {
		if string(text) == name {
			return int64(n)
		}
	}
	n, _ := scalar.ParseInt(text)
	return n
}

func (m *jsonMessage) key() (key []byte) {
	start := m.Mark()
	for m.Skip(); m.more(0, attrSchema); m.Skip() {
		if m.field == protobuf.KeyValueKey {
			key = m.Str()
			break
		}
	}
	m.Rewind(start)
	m.field = protobuf.KeyValueValue
	return key
}
