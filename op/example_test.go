package op_test

import (
	"fmt"

	"github.com/optrace/optrace/op"
)

func ExampleInferKind() {
	for _, name := range []string{"ncclDevKernel_AllReduce", "all_gather_into_tensor", "Memcpy HtoD", "matmul"} {
		kind, rule := op.InferKind(name)
		fmt.Println(name, kind, rule)
	}
	// Output:
	// ncclDevKernel_AllReduce collective library
	// all_gather_into_tensor collective name
	// Memcpy HtoD memory name
	// matmul compute default
}
