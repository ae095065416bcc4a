package otlp

import "github.com/optrace/optrace/internal/jsontext"

// usualAttribute feeds an attribute to the builder that is written as encoders
// write it: without white space, the key first, and a value that is a string, an
// integer in quotes, or a list of integers or of lists of them. It reports false,
// and does nothing, for any other one. Comparing whole pieces of text takes a
// third of what reading token by token does.
func (r *jsonReader) usualAttribute(l *jsontext.Lexer) bool {
	t := usualText{rest: l.Rest()}
	size := len(t.rest)
	name, ok := t.quoted(`{"key":`)
	if !ok || !t.accept(`,"value":{"`) {
		return false
	}
	k, b := r.keys.lookup(name), r.builder
	switch {
	case t.accept(`stringValue":`):
		text, ok := t.quoted("")
		if !ok || !t.accept(`}}`) {
			return false
		}
		if k.wants {
			b.Str(k.name, r.strings.String(text))
		}
	case t.accept(`intValue":"`):
		n, ok := t.int()
		if !ok || !t.accept(`"}}`) {
			return false
		}
		if k.wants {
			b.Int(k.name, n)
		}
	case t.accept(`arrayValue":{"values":[`):
		nested, ok := r.usualList(&t)
		if !ok || !t.accept(`}}}`) {
			return false
		}
		switch {
		case !k.wants:
		case nested:
			b.IntLists(k.name, r.dims, r.ends)
		default:
			b.Ints(k.name, r.dims)
		}
	default:
		return false
	}
	if !k.wants {
		b.Other(k.name)
	}
	l.Advance(size - len(t.rest))
	return true
}

// usualList reads the elements of a list, and the bracket behind them, into dims
// and ends.
func (r *jsonReader) usualList(t *usualText) (nested, ok bool) {
	r.dims, r.ends = r.dims[:0], r.ends[:0]
	nested = t.accept(`{"arrayValue":{"values":[`)
	for {
		if r.dims, ok = t.ints(r.dims); !ok || !nested {
			return nested, ok
		}
		if r.ends = append(r.ends, len(r.dims)); !t.accept(`}}`) {
			return true, false
		}
		if !t.accept(`,{"arrayValue":{"values":[`) {
			return true, t.accept(`]`)
		}
	}
}

// usualText is text that is compared piece by piece.
type usualText struct{ rest []byte }

// accept passes over s where it stands next.
func (t *usualText) accept(s string) bool {
	if len(t.rest) < len(s) || string(t.rest[:len(s)]) != s {
		return false
	}
	t.rest = t.rest[len(s):]
	return true
}

// quoted reads what follows prefix: a string without escapes.
func (t *usualText) quoted(prefix string) ([]byte, bool) {
	if !t.accept(prefix) || len(t.rest) == 0 || t.rest[0] != '"' {
		return nil, false
	}
	n := 1 + jsontext.PlainPrefix(t.rest[1:])
	if n >= len(t.rest) || t.rest[n] != '"' {
		return nil, false
	}
	text := t.rest[1:n]
	t.rest = t.rest[n+1:]
	return text, true
}

// int reads up to 18 digits.
func (t *usualText) int() (v int64, ok bool) {
	n := 0
	for n < len(t.rest) && n <= 18 {
		d := t.rest[n] - '0'
		if d > 9 {
			break
		}
		v = v*10 + int64(d)
		n++
	}
	t.rest = t.rest[n:]
	return v, 0 < n && n <= 18
}

// ints appends one or more integers, and passes over the bracket behind them.
func (t *usualText) ints(dst []int64) ([]int64, bool) {
	for t.accept(`{"intValue":"`) {
		v, ok := t.int()
		if !ok || !t.accept(`"}`) {
			return dst, false
		}
		if dst = append(dst, v); !t.accept(`,`) {
			return dst, t.accept(`]`)
		}
	}
	return dst, false
}
