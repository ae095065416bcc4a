package work_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/work"
	"github.com/optrace/optrace/op"
)

func ExampleFinder() {
	finder := work.NewFinder(false, nil)
	w := finder.Entry(&op.Entry{
		Operation: "matmul", Kind: op.KindCompute, InputShapes: []op.Shape{{2, 3}, {3, 4}},
		OutputShape: op.Shape{2, 4}, DType: op.F32,
		InputDTypes: []op.DType{op.F32, op.F32},
	})
	fmt.Println(w.Flops, "FLOPs,", w.Bytes, "bytes")
	// Output:
	// 48 FLOPs, 104 bytes
}
