package attrmap_test

import (
	"fmt"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/attrmap"
	"github.com/optrace/optrace/op"
)

// A Builder turns the attributes of a span into an entry. It is used for one
// span after the other.
func ExampleBuilder() {
	b := attrmap.NewBuilder(nil)
	b.Reset()
	b.SetName("matmul")
	b.SetTime(op.Known(1_700_000_000_000_000_000), 12_600)
	b.Str(attrkey.Name, "matmul")
	b.Str(attrkey.Device, "cuda:0")
	b.Str(attrkey.DType, "torch.float32")
	b.Str(attrkey.InputShapes, "[[64,784],[784,256]]")
	b.Ints(attrkey.OutputShape, []int64{64, 256})

	e, ok := b.Entry()
	fmt.Println(ok, e.Operation, e.Kind, e.DeviceID, e.DType)
	fmt.Println(e.InputShapes, "->", e.OutputShape)
	fmt.Println(e.OutputElements, "elements,", e.MemoryBytes, "bytes, step", e.Step)
	// Output:
	// true matmul compute cuda:0 f32
	// [64x784 784x256] -> 64x256
	// 16384 elements, 65536 bytes, step unknown
}

func ExampleParseShape() {
	for _, text := range []string{"64x784", "[64, 784]", "[]", "64x"} {
		s, ok := attrmap.ParseShape(text)
		n, _ := s.Elements()
		fmt.Println(s, n, ok)
	}
	// Output:
	// 64x784 50176 true
	// 64x784 50176 true
	// scalar 1 true
	// ? unknown false
}
