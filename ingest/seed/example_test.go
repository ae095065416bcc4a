package seed_test

import (
	"bytes"
	"fmt"

	"github.com/optrace/optrace/ingest/seed"
	"github.com/optrace/optrace/op"
)

func Example() {
	w := seed.NewEncoder(nil)
	w.Entry(&op.Entry{Operation: "matmul", Duration: 500_000, MemoryBytes: op.Known(4096)})
	document := w.End(500_000, map[string]string{"model": "resnet50"})

	for rec, err := range seed.Records(bytes.NewReader(document), "trace.json") {
		switch {
		case err != nil:
			fmt.Println(err)
		case rec.Resource != nil:
			fmt.Println(rec.Resource.Attrs[0].Key, rec.Resource.Attrs[0].Value)
		case rec.Entry != nil:
			fmt.Println(rec.Entry.Operation, rec.Entry.Duration, "ns")
		}
	}
	// Output:
	// model resnet50
	// matmul 500000 ns
}
