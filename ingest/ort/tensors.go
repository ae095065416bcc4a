package ort

import (
	"strings"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/intern"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// tensors is a list of types and shapes, as the runtime writes those of a
// node's inputs and outputs:
//
//	[{"float":[1,3,224,224]},{"int64":[]}]
type tensors struct {
	types  []string
	shapes [][]int64
	dims   []int64 // behind shapes
}

// read reads the list that comes next in l.
func (t *tensors) read(l *jsontext.Lexer, names *intern.Table) {
	t.types, t.shapes, t.dims = t.types[:0], t.shapes[:0], t.dims[:0]
	for l.Array(); l.More(); {
		if !l.AnyObject() {
			t.add("", []int64{op.Dynamic - 1}) // no tensor
			continue
		}
		for l.More() {
			name := strings.ToValidUTF8(names.String(l.Key()), "\ufffd")
			t.add(name, t.readDims(l))
		}
	}
}

func (t *tensors) add(name string, shape []int64) {
	if len(t.types) > op.MaxInputs {
		return // one more than is kept, so that the builder notices
	}
	t.types = append(t.types, name)
	t.shapes = append(t.shapes, shape)
}

// readDims reads dimensions; Dynamic-1, which the builder refuses, stands for
// one that is none.
func (t *tensors) readDims(l *jsontext.Lexer) []int64 {
	start := len(t.dims)
	list := l.AnyArray()
	if !list {
		t.dims = append(t.dims, op.Dynamic-1)
	}
	for list && l.More() {
		dim := int64(op.Dynamic - 1)
		if c := l.Peek(); c == '-' || '0' <= c && c <= '9' {
			if n, ok := l.Int(); ok {
				dim = n
			}
		} else {
			l.Skip()
		}
		t.dims = append(t.dims, dim)
	}
	return t.dims[start:len(t.dims):len(t.dims)]
}

// inputs gives the types and shapes of a node's inputs to the builder.
func (d *decoder) inputs() {
	t, b := &d.tensors, d.build
	t.read(&d.lex, &d.strings)
	list := b.BeginList(attrkey.InputShapes)
	for _, shape := range t.shapes {
		list.Begin()
		for _, dim := range shape {
			list.Int(dim)
		}
		list.End()
	}
	list.End()
	b.Strs(attrkey.InputDTypes, t.types)
}

// outputs gives the type and shape of a node's first output to the builder.
func (d *decoder) outputs() {
	t, b := &d.tensors, d.build
	t.read(&d.lex, &d.strings)
	if len(t.types) == 0 {
		return
	}
	b.Str(attrkey.DType, t.types[0])
	b.Ints(attrkey.OutputShape, t.shapes[0])
}
