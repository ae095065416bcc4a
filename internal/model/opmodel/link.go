package opmodel

import (
	"strconv"
	"strings"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

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
