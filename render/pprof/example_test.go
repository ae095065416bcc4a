package pprof_test

import (
	"bytes"
	"fmt"

	"github.com/google/pprof/profile"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/pprof"
)

func ExampleWrite() {
	t := stacks.NewTable(stacks.Limits{})
	var path stacks.Path
	path.Push("step")
	path.Push("matmul")
	t.Add(&path, &stacks.Labels{Device: "cuda:0", Kind: op.KindCompute}, stacks.Values{Count: 3, TimeNS: 3000, SelfNS: 3000})

	var file bytes.Buffer
	if err := pprof.Write(&file, t, pprof.Options{}); err != nil {
		panic(err)
	}
	p, err := profile.Parse(&file)
	if err != nil {
		panic(err)
	}
	for i, v := range p.Sample[0].Value {
		fmt.Println(p.SampleType[i].Type, v, p.SampleType[i].Unit)
	}
	// Output:
	// count 3 count
	// time 3000 nanoseconds
	// self 3000 nanoseconds
	// bytes 0 bytes
	// flops 0 count
}
