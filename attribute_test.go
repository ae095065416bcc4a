package optrace_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
)

// Every encoding of shapes that the constructors write is read back.
func TestShapeAttributes(t *testing.T) {
	tests := []struct {
		name   string
		attrs  []attribute.KeyValue
		inputs []op.Shape
	}{
		{"nested", []attribute.KeyValue{optrace.InputShapes([]int64{64, 784}, []int64{}, []int64{-1, 3})}, []op.Shape{{64, 784}, {}, {-1, 3}}},
		{"no inputs", []attribute.KeyValue{optrace.InputShapes()}, []op.Shape{}},
		{"texts", []attribute.KeyValue{optrace.InputShapeTexts([]int64{64, 784}, []int64{}, []int64{-1, 3}, []int64{7})}, []op.Shape{{64, 784}, {}, {-1, 3}, {7}}},
		{"one by one", []attribute.KeyValue{optrace.InputShapeAt(1, 784, 256), optrace.InputShapeAt(0)}, []op.Shape{{}, {784, 256}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stub := opStub(0)
			stub.Attributes = append(tt.attrs, optrace.OpName("matmul"))
			e := convert(t, stub)
			if diff := cmp.Diff(tt.inputs, e.InputShapes); diff != "" || e.Warn != 0 {
				t.Errorf("warnings %b, input shapes (-want +got):\n%s", e.Warn, diff)
			}
		})
	}
}

// The constructors copy what they are given.
func TestShapeAttributesCopy(t *testing.T) {
	dims := []int64{2, 3}
	kvs := []attribute.KeyValue{optrace.InputShapes(dims), optrace.OutputShape(dims...), optrace.InputShapeAt(0, dims...)}
	before := texts(kvs)
	dims[0] = 99
	if diff := cmp.Diff(before, texts(kvs)); diff != "" {
		t.Errorf("attributes change with what they were made of (-want +got):\n%s", diff)
	}
}

func TestFurtherAttributes(t *testing.T) {
	stub := opStub(0)
	stub.Attributes = append(stub.Attributes, optrace.HostSide())
	stub.Attributes = append(stub.Attributes, optrace.CollectiveElements(3, 4)...)
	e := convert(t, stub)
	want := &op.Collective{InElements: op.Known(3), OutElements: op.Known(4)}
	if diff := cmp.Diff(want, e.Collective); diff != "" || e.Side != op.SideHost {
		t.Errorf("side %v, collective (-want +got):\n%s", e.Side, diff)
	}
}
