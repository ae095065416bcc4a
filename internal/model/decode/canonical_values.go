package decode

import (
	"unicode/utf8"

	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// The values of members in canonical form, see canonical.go.

func (d *Decoder) canonicalText(b []byte, i int) (string, int) {
	first, second, third, end := lexer.QuotedWords(b, i)
	if end < 0 {
		return d.otherText(b, i)
	}
	w := intern.Words{First: first, Second: second, Third: third}
	s, ok := d.short.Find(w)
	if !ok {
		if s, end = d.otherText(b, i); end > 0 && s != "" {
			d.short.Add(w, s)
		}
	}
	return s, end
}

// otherText is canonicalText for a long or a new string.
func (d *Decoder) otherText(b []byte, i int) (string, int) {
	text, end := lexer.Quoted(b, i)
	if s, ok := d.strings.Find(text); ok {
		return s, end // only valid text is remembered
	}
	if !utf8.Valid(text) {
		return "", -1
	}
	return d.strings.String(text), end
}

func (d *Decoder) canonicalKind(b []byte, i int) (op.Kind, int) {
	if end := valueCompute.Read(b, i); end > 0 { // most do
		return op.KindCompute, end
	}
	name, i := d.canonicalText(b, i)
	k, _ := op.ParseKind(name)
	return k, i
}

func (d *Decoder) canonicalDType(b []byte, i int) (op.DType, int) {
	name, i := d.canonicalText(b, i)
	t, ok := op.ParseDType(name)
	if !ok {
		return "", -1
	}
	return t, i
}

func (d *Decoder) canonicalDTypes(b []byte, i int) ([]op.DType, int) {
	if lexer.Has(b, i, "]") {
		return []op.DType{}, i + 1
	}
	for {
		var name string
		name, i = d.canonicalText(b, i)
		t, _ := op.ParseDType(name)
		d.dtypes = append(d.dtypes, t)
		if !lexer.Has(b, i, ",") {
			break
		}
		i++
	}
	if len(d.dtypes) > op.MaxInputs {
		return nil, -1
	}
	return d.dtypes, lexer.Literal(b, i, "]")
}

func (d *Decoder) canonicalShapes(b []byte, i int) ([]op.Shape, int) {
	if !lexer.Has(b, i, "[") {
		return nil, lexer.Literal(b, i, "null")
	}
	if d.inputs == nil {
		d.inputs = make([]op.Shape, 0, 4)
	}
	if i++; lexer.Has(b, i, "]") {
		return d.inputs, i + 1
	}
	for {
		var s op.Shape
		s, i = d.canonicalShape(b, i)
		d.inputs = append(d.inputs, s)
		if !lexer.Has(b, i, ",") {
			break
		}
		i++
	}
	if len(d.inputs) > op.MaxInputs {
		return nil, -1
	}
	return d.inputs, lexer.Literal(b, i, "]")
}

func (d *Decoder) canonicalShape(b []byte, i int) (op.Shape, int) {
	if !lexer.Has(b, i, "[") {
		return nil, lexer.Literal(b, i, "null")
	}
	if d.dims == nil {
		d.dims = make([]int64, 0, 16)
	}
	start := len(d.dims)
	if i++; lexer.Has(b, i, "]") {
		return op.Shape(d.dims[start:start:start]), i + 1
	}
	dims, end := lexer.ShortList(b, i, d.dims)
	if end < 0 || len(dims)-start > op.MaxRank {
		return nil, -1
	}
	d.dims = dims
	// If dims grows later, this shape keeps its memory.
	return op.Shape(dims[start:len(dims):len(dims)]), end
}

func amount(b []byte, i int) (op.Int, int) {
	n, i := lexer.Digits(b, i)
	return op.Known(n), i
}

func optionalAmount(b []byte, i int) (op.Int, int) {
	if lexer.Has(b, i, "null") {
		return op.Int{}, i + len("null")
	}
	return amount(b, i)
}

func integer(b []byte, i int) (op.Int, int) {
	n, i := lexer.Integer(b, i)
	return op.Known(n), i
}

func optionalInt(b []byte, i int) (op.Int, int) {
	if lexer.Has(b, i, "null") {
		return op.Int{}, i + len("null")
	}
	return integer(b, i)
}

// repeatedText is canonicalText for a member that mostly has the value of the record before, *last.
func (d *Decoder) repeatedText(b []byte, i int, last *string) (string, int) {
	end := i + 1 + len(*last)
	if i >= 0 && end < len(b) && b[end] == '"' && b[i] == '"' && string(b[i+1:end]) == *last {
		return *last, end + 1
	}
	*last, i = d.canonicalText(b, i)
	return *last, i
}
