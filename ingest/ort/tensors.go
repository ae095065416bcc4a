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
	types []string
	dims  []int64 // of all shapes
	ends  []int   // of each one's
}

// read reads the list that comes next in l.
func (t *tensors) read(l *jsontext.Lexer, names *intern.Table) {
	t.types, t.dims, t.ends = t.types[:0], t.dims[:0], t.ends[:0]
	for l.Array(); l.More(); {
		if !l.AnyObject() {
			t.dims = append(t.dims, op.Dynamic-1) // no tensor
			t.add("")
			continue
		}
		for l.More() {
			name := strings.ToValidUTF8(names.String(l.Key()), "\ufffd")
			t.readDims(l)
			t.add(name)
		}
	}
}

// add adds a tensor, whose shape is the dimensions behind those of the one before.
func (t *tensors) add(name string) {
	if len(t.types) > op.MaxInputs {
		return // one more than is kept, so that the builder notices
	}
	t.types = append(t.types, name)
	t.ends = append(t.ends, len(t.dims))
}

// readDims reads dimensions; Dynamic-1, which the builder refuses, stands for
// one that is none.
func (t *tensors) readDims(l *jsontext.Lexer) {
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
}

// inputs gives the types and shapes of a node's inputs to the builder.
func (d *decoder) inputs() {
	t, b := &d.tensors, d.build
	t.read(&d.lex, &d.strings)
	b.SetIntLists(b.Target(attrkey.InputShapes), t.dims, t.ends)
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
	b.Ints(attrkey.OutputShape, t.dims[:t.ends[0]])
}
