package op_test

import (
	"testing"

	"github.com/optrace/optrace/op"
)

func TestPredicate(t *testing.T) {
	aliased := new(op.Mapping)
	aliased.Alias("my.op", op.FieldName)
	for _, tt := range []struct {
		name    string
		mapping *op.Mapping
		keys    []string
		want    bool
	}{
		{"no attributes", nil, nil, false},
		{"convention", nil, []string{"http.route", op.KeyName}, true},
		{"device alone", nil, []string{op.KeyDevice, op.KeyOutputShape}, false},
		{"torch", nil, []string{"pytorch.anything"}, true},
		{"bare name", nil, []string{"op"}, false},
		{"bare name and shape", nil, []string{"output_shape", "operation"}, true},
		{"bare name and indexed shape", nil, []string{"op", op.InputShapeKey(3)}, true},
		{"unknown alias", nil, []string{"my.op"}, false},
		{"alias", aliased, []string{"my.op"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, got := tt.mapping.Predicate(), false
			b := op.NewBuilder(tt.mapping)
			b.Reset()
			for _, key := range tt.keys {
				got = p.See(key)
				b.Other(key)
			}
			if got != tt.want {
				t.Errorf("See(%q) = %v, want %v", tt.keys, got, tt.want)
			}
			if _, ok := b.Entry(); ok != got {
				t.Errorf("the builder says %v, the predicate %v", ok, got)
			}
		})
	}
}
