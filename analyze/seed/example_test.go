package seed_test

import (
	"fmt"
	"os"

	"github.com/optrace/optrace/analyze/seed"
	"github.com/optrace/optrace/op"
)

func ExampleStacks() {
	var stacks seed.Stacks
	stacks.Add(&op.Entry{Operation: "matmul", DeviceID: "gpu:0", Duration: 123_000})
	stacks.Add(&op.Entry{Operation: "matmul", DeviceID: "gpu:0", Duration: 77_400})
	stacks.Add(&op.Entry{Operation: "reshape", Duration: 600})
	if err := stacks.Write(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// trace;gpu:0;matmul 200
	// trace;unknown;reshape 1
}
