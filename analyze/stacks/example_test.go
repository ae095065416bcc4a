package stacks_test

import (
	"os"

	"github.com/optrace/optrace/analyze/stacks"
)

func ExampleTable_WriteCollapsed() {
	t := stacks.NewTable(stacks.Limits{})
	var path stacks.Path
	path.Push("step")
	path.Push("matmul")
	for range 3 {
		t.Add(&path, &stacks.Labels{Device: "cuda:0"}, stacks.Values{Count: 1, TimeNS: 1000, SelfNS: 1000})
	}
	if err := t.WriteCollapsed(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// step;matmul 3000
}
