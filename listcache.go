package optrace

import (
	"math"
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/op"
)

// listCache takes lists apart. There is no way to look into one without
// allocating, so what is in them is kept by value: shapes repeat. It is used by
// one goroutine at a time.
type listCache struct {
	known   map[attribute.Value][]listToken
	scratch []listToken
	rest    restPolicy
}

// listToken is a step on the way through a list.
type listToken struct {
	kind   tokenKind
	number int64 // or the bits of a floating-point number
	text   string
}

type tokenKind uint8

const (
	tokenOther tokenKind = iota
	tokenInt
	tokenFloat
	tokenText
	tokenBegin // of a list within the list
	tokenEnd
)

const (
	// maxCachedLists bounds the cache, which starts anew when it is full.
	maxCachedLists = 8192
	// maxCachedTokens is how long a list in the cache is at most: the dimensions
	// of a hundred matrices.
	maxCachedTokens = 400
	// maxListDepth is how deep lists are looked into: shapes need two levels.
	maxListDepth = 4
	// tokenBytes is about what a token takes in memory.
	tokenBytes = 32
)

// tokens returns what is in v, valid until the next call.
func (c *listCache) tokens(v attribute.Value) []listToken {
	rests, _ := c.rest.resting()
	if !rests {
		if t, ok := c.known[v]; ok {
			c.rest.hit()
			return t
		}
	}
	c.scratch = appendTokens(c.scratch[:0], v, 1)
	if !rests && len(c.scratch) <= maxCachedTokens {
		if c.known == nil {
			c.known = make(map[attribute.Value][]listToken)
		}
		if len(c.known) >= maxCachedLists {
			clear(c.known)
		}
		c.known[v] = slices.Clone(c.scratch)
	}
	return c.scratch
}

// appendTokens appends what is in the list v, which lies depth lists deep.
func appendTokens(dst []listToken, v attribute.Value, depth int) []listToken {
	switch v.Type() {
	case attribute.INT64SLICE:
		for _, n := range v.AsInt64Slice() {
			dst = append(dst, listToken{kind: tokenInt, number: n})
		}
	case attribute.FLOAT64SLICE:
		for _, f := range v.AsFloat64Slice() {
			dst = append(dst, floatToken(f))
		}
	case attribute.STRINGSLICE:
		for _, s := range v.AsStringSlice() {
			dst = append(dst, listToken{kind: tokenText, text: s})
		}
	case attribute.BOOLSLICE:
		for range v.AsBoolSlice() {
			dst = append(dst, listToken{})
		}
	case attribute.SLICE:
		for _, e := range v.AsSlice() {
			dst = appendElement(dst, e, depth)
		}
	}
	return dst
}

func floatToken(f float64) listToken {
	return listToken{kind: tokenFloat, number: int64(math.Float64bits(f))}
}

// appendElement appends an element of a list that lies depth lists deep.
func appendElement(dst []listToken, v attribute.Value, depth int) []listToken {
	switch v.Type() {
	case attribute.INT64:
		return append(dst, listToken{kind: tokenInt, number: v.AsInt64()})
	case attribute.FLOAT64:
		return append(dst, floatToken(v.AsFloat64()))
	case attribute.STRING:
		return append(dst, listToken{kind: tokenText, text: v.AsString()})
	case attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE, attribute.BOOLSLICE, attribute.SLICE:
		if depth < maxListDepth {
			dst = append(dst, listToken{kind: tokenBegin})
			dst = appendTokens(dst, v, depth+1)
			return append(dst, listToken{kind: tokenEnd})
		}
	}
	return append(dst, listToken{})
}

// feedTokens hands what is in a list to a builder, and returns about how many
// bytes it takes.
func feedTokens(l *op.List, tokens []listToken) (bytes int) {
	for i := range tokens {
		switch t := &tokens[i]; t.kind {
		case tokenInt:
			l.Int(t.number)
		case tokenFloat:
			l.Float(math.Float64frombits(uint64(t.number)))
		case tokenText:
			l.Str(t.text)
			bytes += len(t.text)
		case tokenBegin:
			l.Begin()
		case tokenEnd:
			l.End()
		default:
			l.Other()
		}
	}
	return bytes + len(tokens)*tokenBytes
}
