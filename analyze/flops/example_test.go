package flops_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/op"
)

// A matrix product takes two operations per element and step of the inner dimension.
func ExampleOf() {
	work := flops.Of(&op.Entry{
		Operation: "matmul", Kind: op.KindCompute, DType: op.F32,
		InputShapes: []op.Shape{{64, 784}, {784, 256}}, OutputShape: op.Shape{64, 256},
	})
	fmt.Println(work.FLOPs.V, "FLOPs", work.Bytes.V, "bytes", work.DType)
	// Output: 25690112 FLOPs 1069056 bytes f32
}
