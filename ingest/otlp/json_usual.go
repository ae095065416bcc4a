package otlp

import "github.com/optrace/optrace/internal/jsontext"

// usualAttribute feeds an attribute to the builder that is written as encoders
// write it: without white space, the key first, and a value that is a string, an
// integer in quotes, or a list of integers or of lists of them. It reports false,
// and does nothing, for any other one. Comparing whole pieces of text takes a
// third of what reading token by token does.
func (r *jsonReader) usualAttribute(l *jsontext.Lexer) bool {
	t := jsontext.Plain{Rest: l.Rest()}
	size := len(t.Rest)
	if !t.Accept(`{"key":`) {
		return false
	}
	name, ok := t.Quoted()
	if !ok || !t.Accept(`,"value":{"`) {
		return false
	}
	k, b := r.keys.lookup(name), r.builder
	switch {
	case t.Accept(`stringValue":`):
		text, ok := t.Quoted()
		if !ok || !t.Accept(`}}`) {
			return false
		}
		if k.wants {
			b.Str(k.name, r.strings.String(text))
		}
	case t.Accept(`intValue":"`):
		n, ok := t.Digits()
		if !ok || !t.Accept(`"}}`) {
			return false
		}
		if k.wants {
			b.Int(k.name, n)
		}
	case t.Accept(`arrayValue":{"values":[`):
		nested, ok := r.usualList(&t)
		if !ok || !t.Accept(`}}}`) {
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
	l.Advance(size - len(t.Rest))
	return true
}

// usualList reads the elements of a list, and the bracket behind them, into dims
// and ends.
func (r *jsonReader) usualList(t *jsontext.Plain) (nested, ok bool) {
	r.dims, r.ends = r.dims[:0], r.ends[:0]
	nested = t.Accept(`{"arrayValue":{"values":[`)
	for {
		if r.dims, ok = plainInts(t, r.dims); !ok || !nested {
			return nested, ok
		}
		if r.ends = append(r.ends, len(r.dims)); !t.Accept(`}}`) {
			return true, false
		}
		if !t.Accept(`,{"arrayValue":{"values":[`) {
			return true, t.Accept(`]`)
		}
	}
}

// plainInts appends one or more integers, and passes over the bracket behind them.
func plainInts(t *jsontext.Plain, dst []int64) ([]int64, bool) {
	for t.Accept(`{"intValue":"`) {
		v, ok := t.Digits()
		if !ok || !t.Accept(`"}`) {
			return dst, false
		}
		if dst = append(dst, v); !t.Accept(`,`) {
			return dst, t.Accept(`]`)
		}
	}
	return dst, false
}
