package otlpprofiles_test

import (
	"bytes"
	"fmt"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/otlpprofiles"
)

func ExampleWriteJSON() {
	t := stacks.NewTable(stacks.Limits{})
	var path stacks.Path
	path.Push("step")
	path.Push("matmul")
	t.Add(&path, &stacks.Labels{Device: "cuda:0", Kind: op.KindCompute},
		stacks.Values{Count: 3, TimeNS: 3000, SelfNS: 3000})

	var message bytes.Buffer
	if err := otlpprofiles.WriteJSON(&message, t, otlpprofiles.Options{}); err != nil {
		panic(err)
	}
	fmt.Println(bytes.Contains(message.Bytes(), []byte(`"matmul"`)))
	// Output: true
}
