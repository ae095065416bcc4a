package parquet

import (
	"reflect"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"
)

// fields is a group of columns in the order given, where parquet.Group sorts
// them by name.
type fields []field

// field is a column or group with its name.
type field struct {
	parquet.Node
	name string
}

// Name implements parquet.Field.
func (f field) Name() string { return f.name }

// Value implements parquet.Field for Go structs of the group's type. Rows are
// written as values, so that there are none.
func (f field) Value(base reflect.Value) reflect.Value { return base.FieldByName(f.name) }

// The methods of parquet.Node are those of any group.

func (g fields) ID() int                     { return 0 }
func (g fields) String() string              { return g.group().String() }
func (g fields) Type() parquet.Type          { return g.group().Type() }
func (g fields) Optional() bool              { return false }
func (g fields) Repeated() bool              { return false }
func (g fields) Required() bool              { return true }
func (g fields) Leaf() bool                  { return false }
func (g fields) Encoding() encoding.Encoding { return nil }
func (g fields) Compression() compress.Codec { return nil }
func (g fields) GoType() reflect.Type        { return g.group().GoType() }

// Fields implements parquet.Node.
func (g fields) Fields() []parquet.Field {
	list := make([]parquet.Field, len(g))
	for i, f := range g {
		list[i] = f
	}
	return list
}

func (g fields) group() parquet.Group {
	group := make(parquet.Group, len(g))
	for _, f := range g {
		group[f.name] = f.Node
	}
	return group
}
