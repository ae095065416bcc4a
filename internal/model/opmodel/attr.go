package opmodel

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unsafe"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/read/budget"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// AppendText appends an attribute with a text unless it is empty.
func AppendText(attrs []op.Attr, key, value string) []op.Attr {
	if value == "" {
		return attrs
	}
	return append(attrs, op.Attr{Key: key, Value: value})
}

// AppendInt appends an attribute with an integer if it is known.
func AppendInt(attrs []op.Attr, key string, n op.Int) []op.Attr {
	if !n.Known {
		return attrs
	}
	return append(attrs, op.Attr{Key: key, Value: strconv.FormatInt(n.V, 10), Type: op.AttrInt})
}

// FloatAttr returns an attribute with a floating-point value.
func FloatAttr(key string, v float64) op.Attr {
	return op.Attr{Key: key, Value: strconv.FormatFloat(v, 'g', -1, 64), Type: op.AttrFloat}
}

// SetNumber sets the value of an attribute to a number in JSON.
func SetNumber(a *op.Attr, text []byte) {
	if bytes.ContainsAny(text, ".eE") {
		if f, ok := lexer.ParseFloat(text); ok && !math.IsInf(f, 0) {
			*a = FloatAttr(a.Key, f)
			return
		}
	} else if n, ok := lexer.ParseInt(text); ok {
		a.Value = strconv.FormatInt(n, 10)
		a.Type = op.AttrInt
		return
	}
	a.Value = string(text) // more than 64 bits
	a.Type = op.AttrText
}

// SetRaw sets the value of an attribute to JSON of any type but a string or number.
func SetRaw(a *op.Attr, text string) {
	a.Value = text
	a.Type = op.AttrJSON
	if text == "true" || text == "false" {
		a.Type = op.AttrBool
	} else if base64, ok := lexer.CutBytes(text); ok {
		a.Value = base64
		a.Type = op.AttrBytes
	} else if f, ok := lexer.CutDouble(text); ok {
		*a = FloatAttr(a.Key, f)
	}
}

// FindAttr returns the attribute with a key, or nil.
func FindAttr(attrs []op.Attr, key string) *op.Attr {
	for i := range attrs {
		if attrs[i].Key == key {
			return &attrs[i]
		}
	}
	return nil
}

// AttrIndex sets attributes in constant time in a list of any length. It must have set the list from the first
// attribute on. The zero value is ready, also for the next list.
type AttrIndex struct {
	at map[string]int
	// Held accounts for the memory of each attribute. A refused one is left out.
	Held budget.Account
}

// attrBytes is about the size of an attribute without its texts, indexBytes its size in the index of a long list.
const (
	attrBytes  = 2 * int(unsafe.Sizeof(op.Attr{}))
	indexBytes = 96
)

// Append appends an attribute to a list that may have equal keys.
func (x *AttrIndex) Append(attrs []op.Attr, a op.Attr) []op.Attr {
	if !x.Held.Take(attrBytes + len(a.Key) + len(a.Value)) {
		return attrs
	}
	return append(attrs, a)
}

const indexedFrom = 32

// Set sets an attribute among attrs: of equal keys the last wins.
func (x *AttrIndex) Set(attrs []op.Attr, a op.Attr) []op.Attr {
	if len(attrs) < indexedFrom {
		if x.at != nil {
			x.at = nil
		}
		if old := FindAttr(attrs, a.Key); old != nil {
			*old = a
			return attrs
		}
		return x.Append(attrs, a)
	}
	if len(x.at) != len(attrs) {
		x.at = make(map[string]int, 2*len(attrs))
		for i := range attrs {
			x.at[attrs[i].Key] = i
		}
	}
	if i, ok := x.at[a.Key]; ok {
		attrs[i] = a
		return attrs
	}
	n := len(attrs)
	if x.Held.Take(indexBytes) {
		attrs = x.Append(attrs, a)
	}
	if len(attrs) > n {
		x.at[a.Key] = n
	}
	return attrs
}

// ValidAttr returns a with valid UTF-8.
func ValidAttr(a op.Attr) op.Attr {
	a.Key = lexer.ValidUTF8(a.Key)
	a.Value = lexer.ValidUTF8(a.Value)
	return a
}

// LinkWeight returns the field of l for an attribute key of links, nil for any other key.
func LinkWeight(l *op.Link, key string) *op.Int {
	switch key {
	case attrkey.LinkWeight:
		return &l.Weight
	case attrkey.LinkAttention:
		return &l.Attention
	}
	return nil
}

// LinkInt sets the link's field to an integer attribute. It returns the warning about a bad value, or 0.
func LinkInt(l *op.Link, key string, v int64) op.Warning {
	switch field := LinkWeight(l, key); {
	case field == nil:
		return 0
	case v < 0:
		return op.WarnBadValue
	default:
		*field = op.Known(v)
	}
	return 0
}

// LinkAttr is LinkInt for an attribute of any type: also a text, or a floating-point number within ±2^53.
func LinkAttr(l *op.Link, a op.Attr) op.Warning {
	if LinkWeight(l, a.Key) == nil {
		return 0
	}
	var n int64
	ok := false
	switch a.Type {
	case op.AttrText, op.AttrInt:
		n, ok = lexer.ParseInt([]byte(strings.TrimSpace(a.Value)))
	case op.AttrFloat:
		f, _ := strconv.ParseFloat(a.Value, 64)
		n, ok = lexer.IntegralFloat(f)
	}
	if !ok {
		return op.WarnBadValue
	}
	return LinkInt(l, a.Key, n)
}

// DroppedLinks returns the number of missing links of an entry or span.
func DroppedLinks(x *op.Extra) int64 {
	if x == nil {
		return 0
	}
	return max(0, x.DroppedLinks)
}

// Dropped returns an Extra with a number of dropped links, nil for 0.
func Dropped(n int64) *op.Extra {
	if n <= 0 {
		return nil
	}
	return &op.Extra{DroppedLinks: n}
}

// WithMessage returns x, perhaps nil, with the description of a status.
func WithMessage(x *op.Extra, message string) *op.Extra {
	if message == "" {
		return x
	}
	if x == nil {
		x = new(op.Extra)
	}
	x.Message = message
	return x
}

// AppendLink appends l to the links of a record. It leaves out an invalid or excess link and adds the warning to warn.
func AppendLink(links []op.Link, l op.Link, warn *op.Warning) []op.Link {
	switch {
	case !l.Valid():
		*warn |= op.WarnBadID
	case len(links) == op.MaxLinks:
		*warn |= op.WarnDroppedLinks
	default:
		return append(links, l)
	}
	return links
}
