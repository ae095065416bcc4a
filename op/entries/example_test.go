package entries_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// A Reader reports an unreadable line and goes on behind it.
func ExampleReader_Records() {
	file := `{"schema":"optrace.entries/v1","resource":{"service":"trainer"}}
{"operation":"matmul","device_id":"cuda:0","output_shape":[64,256],"duration_us":12.6}
{"operation":"relu","duration_
{"operation":"softmax","duration_us":3}
`
	r := entries.NewReader(strings.NewReader(file), "ops.jsonl")
	for rec, err := range r.Records() {
		var syntax *op.SyntaxError
		switch {
		case errors.As(err, &syntax):
			fmt.Println("skipped:", err)
		case err != nil:
			fmt.Println("stopped:", err)
		case rec.Entry != nil:
			fmt.Println(rec.Entry.Operation, rec.Entry.Duration, "ns,", rec.Entry.MemoryBytes, "bytes")
		case rec.Resource != nil:
			fmt.Println("from", rec.Resource.Service)
		}
	}
	// Output:
	// from trainer
	// matmul 12600 ns, 131072 bytes
	// skipped: ops.jsonl:3: unexpected end of JSON text (at byte 182)
	// softmax 3000 ns, unknown bytes
}

func ExampleWriter() {
	var text strings.Builder
	w := entries.NewWriter(&text, &op.Resource{Service: "trainer"})
	err := w.Entry(&op.Entry{Operation: "relu", Kind: op.KindCompute, OutputShape: op.Shape{2, 3}, Duration: 600})
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		fmt.Println(err)
	}
	fmt.Print(strings.ReplaceAll(text.String(), `,"output`, ",\n \"output")) // the lines are long
	// Output:
	// {"schema":"optrace.entries/v1","resource":{"service":"trainer"}}
	// {"step":null,"operation":"relu","device_id":null,"input_shapes":null,
	//  "output_shape":[2,3],"duration_us":0.6,
	//  "output_elements":null,"memory_bytes":null,"kind":"compute","duration_ns":600}
}
