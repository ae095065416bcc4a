package jaeger_test

import (
	"fmt"
	"strings"

	"github.com/optrace/optrace/ingest/jaeger"
)

func ExampleRecords() {
	answer := `{"data":[{"spans":[
		{"traceID":"8448eb211c80319c","spanID":"b7ad6b7169203331","operationName":"GET /","processID":"p1",
			"startTime":1,"duration":90},
		{"traceID":"8448eb211c80319c","spanID":"00f067aa0ba902b7","operationName":"op/relu","processID":"p1",
			"startTime":9,"duration":5,
		 "references":[{"refType":"CHILD_OF","traceID":"8448eb211c80319c","spanID":"b7ad6b7169203331"}],
		 "tags":[{"key":"tensor.op.name","type":"string","value":"relu"},{"key":"tensor.output.shape","type":"string",
		 	"value":"[64,256]"}]}
	],"processes":{"p1":{"serviceName":"api"}}}]}`
	for rec, err := range jaeger.Records(strings.NewReader(answer), "answer.json", nil) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		if e := rec.Entry; e != nil {
			fmt.Println(e.Operation, e.Service, e.OutputShape, e.Duration, "ns below", e.ParentSpanID)
		}
	}
	// Output:
	// relu api 64x256 5000 ns below b7ad6b7169203331
}
