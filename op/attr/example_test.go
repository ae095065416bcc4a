package attr_test

import (
	"fmt"
	"strings"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/tensorconv"
)

// The program's own attributes join the conventions.
func ExampleMapping() {
	m := &attr.Mapping{}
	m.Alias("engine.op", string(tensorconv.OpNameKey))
	m.Keep("model")

	const spans = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":[
		{"key":"engine.op","value":{"stringValue":"softmax"}},
		{"key":"model","value":{"stringValue":"resnet50"}}]}]}]}]}`
	for rec, err := range otlp.JSONRecords(strings.NewReader(spans), "spans", m) {
		if err != nil {
			fmt.Println(err)
		} else if e := rec.Entry; e != nil {
			fmt.Println(e.Operation, e.Attrs[0].Key, e.Attrs[0].Value)
		}
	}
	// Output: softmax model resnet50
}
