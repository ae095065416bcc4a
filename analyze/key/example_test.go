package key_test

import (
	"fmt"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/op"
)

func ExampleParse() {
	keys, err := key.Parse("operation,attr:region")
	if err != nil {
		fmt.Println(err)
		return
	}
	e := &op.Entry{Operation: "matmul", Attrs: []op.Attr{{Key: "region", Value: "eu"}}}
	fmt.Println(key.Group{Keys: keys, Values: key.Of(keys, e)})
	// Output:
	// matmul, eu
}
