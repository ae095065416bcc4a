package attrmap

import (
	"fmt"
	"testing"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// written collects attributes as texts.
type written map[string]string

func (w written) Str(key, value string)              { w[key] = value }
func (w written) Int(key string, value int64)        { w[key] = fmt.Sprint(value) }
func (w written) DTypes(key string, list []op.DType) { w[key] = fmt.Sprint(list) }
func (w written) Shape(key string, shape op.Shape)   { w[key] = fmt.Sprint(shape) }
func (w written) Shapes(key string, list []op.Shape) { w[key] = fmt.Sprint(list) }

// What a reader works out from other attributes is not written, and all else is.
func TestWriteAttrsLeavesOutWhatFollows(t *testing.T) {
	for _, tt := range []struct {
		name  string
		entry op.Entry
		want  written
	}{
		{"nothing is known", op.Entry{}, written{}},
		{"no inputs", op.Entry{InputShapes: []op.Shape{}, InputDTypes: []op.DType{}},
			written{attrkey.InputShapes: "[]", attrkey.InputDTypes: "[]"}},
		{"a shape", op.Entry{OutputShape: op.Shape{2, 3}, OutputElements: op.Known(6)}, written{attrkey.OutputShape: "2x3"}},
		{
			"other elements", op.Entry{OutputShape: op.Shape{2, 3}, OutputElements: op.Known(5)},
			written{attrkey.OutputShape: "2x3", attrkey.OutputElements: "5"},
		},
		{"elements without a shape", op.Entry{OutputElements: op.Known(5)}, written{attrkey.OutputElements: "5"}},
		{"a warning that follows", op.Entry{DroppedAttributes: 1, Warn: op.WarnDroppedAttributes}, written{}},
		{
			"a warning that does not follow", op.Entry{Warn: op.WarnDroppedAttributes},
			written{attrkey.Warnings: op.WarnDroppedAttributes.String()},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.entry.KindRule = op.RuleDefault
			got := written{}
			Write(&tt.entry, got)
			delete(got, attrkey.Kind)
			delete(got, attrkey.KindRule)
			check.Equal(t, "attributes", tt.want, got)
		})
	}
}

// A list without elements is the shape of a scalar, and as shapes of inputs none.
func TestBuilderEmptyLists(t *testing.T) {
	b := NewBuilder(nil)
	b.Reset()
	b.Str(attrkey.Name, "add")
	for _, key := range []string{attrkey.InputShapes, attrkey.OutputShape} {
		list := b.BeginList(key)
		list.End()
	}
	e, ok := b.Entry()
	if !ok || e.InputShapes == nil || len(e.InputShapes) != 0 || e.OutputShape == nil || len(e.OutputShape) != 0 ||
		e.Warn&op.WarnBadShape != 0 {
		t.Errorf("the entry is %+v", e)
	}
}
