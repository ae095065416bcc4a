package pprof_test

import (
	"bytes"
	"fmt"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/pprof"
)

func ExampleWrite() {
	t := stacks.NewTable(stacks.Limits{})
	var path stacks.Path
	path.Push("step")
	path.Push("matmul")
	t.Add(&path, &stacks.Labels{Device: "cuda:0", Kind: op.KindCompute},
		stacks.Values{Count: 3, TimeNS: 3000, SelfNS: 3000})

	var file bytes.Buffer
	if err := pprof.Write(&file, t, pprof.Options{}); err != nil {
		panic(err)
	}
	// go tool pprof opens the file; it is compressed by gzip.
	fmt.Printf("%x\n", file.Bytes()[:2])
	// Output: 1f8b
}
