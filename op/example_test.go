package op_test

import (
	"errors"
	"fmt"
	"strings"

	"github.com/optrace/optrace/op"
)

// A Builder turns the attributes of a span into an entry. It is used for one
// span after the other.
func ExampleBuilder() {
	b := op.NewBuilder(nil)
	b.Reset()
	b.SetName("matmul")
	b.SetTime(op.Known(1_700_000_000_000_000_000), 12_600)
	b.Str(op.KeyName, "matmul")
	b.Str(op.KeyDevice, "cuda:0")
	b.Str(op.KeyDType, "torch.float32")
	b.Str(op.KeyInputShapes, "[[64,784],[784,256]]")
	b.Ints(op.KeyOutputShape, []int64{64, 256})

	e, ok := b.Entry()
	fmt.Println(ok, e.Operation, e.Kind, e.DeviceID, e.DType)
	fmt.Println(e.InputShapes, "->", e.OutputShape)
	fmt.Println(e.OutputElements, "elements,", e.MemoryBytes, "bytes, step", e.Step)
	// Output:
	// true matmul compute cuda:0 f32
	// [64x784 784x256] -> 64x256
	// 16384 elements, 65536 bytes, step unknown
}

// A user's own attributes join the conventions by a Mapping.
func ExampleMapping() {
	m := &op.Mapping{}
	m.Alias("engine.op", op.FieldName)
	m.Keep("model")

	b := op.NewBuilder(m)
	b.Reset()
	b.Str("engine.op", "softmax")
	b.Str("model", "resnet50")
	e, ok := b.Entry()
	fmt.Println(ok, e.Operation, e.Attrs[0].Key, e.Attrs[0].Value)
	// Output: true softmax model resnet50
}

// A Reader goes on behind lines that it cannot read, and says where they are.
func ExampleReader_Records() {
	file := `{"schema":"optrace.entries/v1","resource":{"service":"trainer"}}
{"operation":"matmul","device_id":"cuda:0","output_shape":[64,256],"duration_us":12.6}
{"operation":"relu","duration_
{"operation":"softmax","duration_us":3}
`
	r := op.NewReader(strings.NewReader(file), "ops.jsonl")
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
	w := op.NewWriter(&text, &op.Resource{Service: "trainer"})
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

// A Trace is a small trace in memory, and reads and writes the JSON of the
// recorder this project started from.
func ExampleTrace() {
	t := new(op.Trace).WithMetadata("model", "resnet50")
	t.AddEntry(&op.Entry{Operation: "matmul", Duration: 500_000, MemoryBytes: op.Known(4096)})
	t.AddEntry(&op.Entry{Operation: "relu", Duration: 20_000, MemoryBytes: op.Known(1024)})

	fmt.Println(t.StepCount(), "operations,", t.TotalDurationUS(), "us, peak", t.PeakMemoryBytes(), "bytes")
	fmt.Println("slowest:", t.SlowestOps(1)[0].Operation)

	back, err := op.ParseTrace(t.AppendJSON(nil), "trace.json")
	fmt.Println(back.StepCount(), back.Metadata["model"], err)
	// Output:
	// 2 operations, 520 us, peak 4096 bytes
	// slowest: matmul
	// 2 resnet50 <nil>
}

func ExampleParseShape() {
	for _, text := range []string{"64x784", "[64, 784]", "[]", "64x"} {
		s, ok := op.ParseShape(text)
		n, _ := s.Elements()
		fmt.Println(s, n, ok)
	}
	// Output:
	// 64x784 50176 true
	// 64x784 50176 true
	// scalar 1 true
	// ? unknown false
}

func ExampleInferKind() {
	for _, name := range []string{"ncclDevKernel_AllReduce", "all_gather_into_tensor", "Memcpy HtoD", "matmul"} {
		kind, rule := op.InferKind(name)
		fmt.Println(name, kind, rule)
	}
	// Output:
	// ncclDevKernel_AllReduce collective library
	// all_gather_into_tensor collective name
	// Memcpy HtoD memory name
	// matmul compute default
}
