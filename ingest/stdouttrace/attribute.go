package stdouttrace

import (
	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/internal/jsontext"
)

// The types of values that matter here, as the exporter names them. The others
// are distinguished by the JSON of the value.
const (
	kindString = "STRING"
	kindBytes  = "BYTESLICE"
	kindMap    = "MAP"
	kindFloat  = "FLOAT64"
	kindFloats = "FLOAT64SLICE"
	kindSlice  = "SLICE"
)

// attribute is an attribute as the exporter prints it:
//
//	{"Key":"tensor.step","Value":{"Type":"INT64","Value":7}}
type attribute struct {
	key, kind string
	value     []byte // JSON text
}

// next reads the next attribute of a list.
func (d *decoder) next() (a attribute) {
	d.members(func(key []byte) bool {
		switch string(key) {
		case "Key":
			a.key = d.text()
		case "Value":
			d.members(func(key []byte) bool {
				switch string(key) {
				case "Type":
					a.kind = d.text()
				case "Value":
					a.value = d.lex.Raw()
				default:
					return false
				}
				return true
			})
		default:
			return false
		}
		return true
	})
	return a
}

// attributes reads the attributes of a span into the builder.
func (d *decoder) attributes() {
	for more := d.lex.AnyArray(); more && d.lex.More(); {
		d.add(d.next())
	}
}

// add gives an attribute to the builder.
func (d *decoder) add(a attribute) {
	if a.key == "" || len(a.value) == 0 {
		return
	}
	b, l := d.build, &d.value
	l.Reset(a.value)
	switch c := l.Peek(); {
	case a.kind == kindBytes || a.kind == kindMap || c == '{', a.kind == kindSlice && !b.WantsList(a.key):
		if t := b.Target(a.key); t.Kept() {
			b.SetAttr(d.attr(a))
		} else {
			b.Other(a.key)
		}
	case c == '"':
		b.Str(a.key, d.valid(l.Str()))
	case c == 't', c == 'f':
		b.Bool(a.key, l.Bool())
	case c == 'n':
		if b.KeepsAll() {
			b.SetEmpty(b.Target(a.key))
		} // else it is as if it were not there
	case c == '[' && b.Wants(a.key):
		d.floats = a.kind == kindFloats
		list := b.BeginList(a.key)
		d.list(&list)
	case c == '[':
		b.Other(a.key)
	default:
		number := l.Number()
		if n, ok := jsontext.ParseInt(number); ok && a.kind != kindFloat {
			b.Int(a.key, n)
		} else if f, ok := jsontext.ParseFloat(number); ok {
			b.Float(a.key, f)
		}
	}
}

// list reads the list that comes next in d.value into one of the builder. Its
// elements are plain values or, in a list of mixed types, values with their
// types:
//
//	[32,128]
//	[{"Type":"INT64SLICE","Value":[32,128]},{"Type":"STRING","Value":"x"}]
func (d *decoder) list(to *attrmap.List) {
	l := &d.value
	l.Array()
	d.opaque = false
	open := append(d.open[:0], '[')
	for len(open) > 0 {
		if !l.More() {
			if open[len(open)-1] == '[' {
				to.End() // the outermost ends the attribute
			}
			open = open[:len(open)-1]
			continue
		}
		if open[len(open)-1] == '{' && !d.elementValue(to) {
			continue
		}
		switch l.Peek() {
		case '[':
			l.Array()
			open = append(open, '[')
			to.Begin()
		case '{':
			l.Object()
			open = append(open, '{')
		case '"':
			to.Str(d.valid(l.Str()))
		case 'n':
			l.Null()
			to.Null()
		case 't', 'f':
			to.Bool(l.Bool())
		default:
			number := l.Number()
			if n, ok := jsontext.ParseInt(number); ok && !d.floats {
				to.Int(n)
			} else if f, ok := jsontext.ParseFloat(number); ok {
				to.Float(f)
			} else {
				to.Other()
			}
		}
	}
	d.open = open
}

// elementValue moves to the value of an element with its type, and reports
// whether it is one to be looked at.
func (d *decoder) elementValue(to *attrmap.List) bool {
	l := &d.value
	key := string(l.Key())
	if key == "Type" && l.Peek() == '"' {
		kind := string(l.Str())
		d.opaque = kind == kindMap || kind == kindBytes
		return false
	}
	if key == "Value" && !d.opaque {
		return true
	}
	if key == "Value" {
		d.opaque = false
		to.Other()
	}
	l.Skip()
	return false
}
