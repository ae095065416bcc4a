package ort_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/optrace/optrace/ingest/ort"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op/attr"
)

func transcript(t testing.TB, text string, m *attr.Mapping) string {
	t.Helper()
	return recordtest.Transcript(t, ort.Records(strings.NewReader(text), "profile", m))
}

func TestGolden(t *testing.T) {
	text := check.Must(os.ReadFile("testdata/squeeze.json"))(t)
	golden.Check(t, "testdata/squeeze.golden", transcript(t, string(text), nil))
}

func TestRecords(t *testing.T) {
	node := func(args string) string {
		return `[{"cat":"Node","ph":"X","ts":1,"dur":2,"name":"n_kernel_time","args":{"op_name":"X"` + args + `}}]`
	}
	entry := func(rest string) string {
		return `{"step":null,"operation":"X",` + rest + "}\n"
	}
	const (
		noShapes = `"device_id":null,"input_shapes":null,"output_shape":null,`
		end      = `"duration_us":2,"output_elements":null,"memory_bytes":null,"kind":"compute","start_unix_ns":1000,` +
			`"duration_ns":2000,"path":"n"`
	)
	m := &attr.Mapping{}
	m.Keep("node_index")
	for _, test := range []struct{ name, text, want string }{
		{"no events", `[]`, ""},
		{"a node", node(""), entry(noShapes + end)},
		{"in an object", `{"traceEvents":` + node("") + `}`, entry(noShapes + end)},
		{"a kept argument", node(`,"node_index":"5"`), entry(noShapes + end + `,"attrs":{"node_index":"5"}`)},
		{
			"shapes that are none", node(`,"input_type_shape":[7,{"float":[2,"x"]},{"float":8},{"float":[-1]}],` +
				`"output_type_shape":[{"float":[-3]}]`),
			entry(`"device_id":null,"input_shapes":[null,null,null,[-1]],"output_shape":null,` +
				strings.Replace(end, `"kind":"compute",`,
					`"kind":"compute","dtype":"f32",`, 1) + `,"input_dtypes":["","f32","f32","f32"],"warn":["bad_shape"]`),
		},
		{
			"arguments of odd types", node(`,"provider":7,"input_type_shape":{},"output_type_shape":"x",` +
				`"output_size":"many"`),
			entry(noShapes + end + `,"warn":["bad_memory"]`),
		},
		{
			"a kernel of WebGPU", `[{"cat":"Api","pid":-1,"tid":-1,"dur":2,"ts":1,"ph":"X","name":"n&X_12","args":{"shapes":"inputs: {1,8}"}}]`,
			entry(strings.Replace(noShapes, "null", `"webgpu"`, 1) + strings.Replace(end, `,"path":"n"`, "", 1)),
		},
		{"a call", `[{"cat":"Api","ph":"X","ts":1,"dur":2,"name":"cudaLaunchKernel"}]`, "skipped runtime_call: 1\n"},
		{"a node without its operation", `[{"cat":"Node","ph":"X","ts":1,"dur":2,"name":"n"}]`, "skipped non_op: 1\n"},
		{"a node without arguments", `[{"cat":"Node","ph":"X","ts":1,"dur":2,"name":"n_kernel_time"}]`,
			strings.Replace(entry(noShapes+end), `"X"`, `"n"`, 1)},
		{"an event of another phase", `[{"cat":"Node","ph":"M","name":"n","args":{"op_name":"X"}}]`,
			"skipped metadata: 1\n"},
		{"a node without dur", strings.Replace(node(""), `"dur":2,`, "", 1),
			"error: profile: node without dur (at byte 1)\n"},
		{"a node without ts", strings.Replace(node(""), `"ts":1,`, "", 1),
			strings.Replace(entry(noShapes+end+`,"warn":["bad_time"]`),
				`"start_unix_ns":1000,`, "", 1)},
		{
			"cut off", node("")[:85] + ",{", entry(noShapes+end) +
				"error: profile: unexpected end of JSON text (at byte 87)\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			check.Equal(t, "records", test.want, transcript(t, test.text, m))
		})
	}
}

// FuzzRecords checks that no input makes the reader panic, and that entries are valid and survive JSON Lines.
func FuzzRecords(f *testing.F) {
	text := check.Must(os.ReadFile("testdata/squeeze.json"))(f)
	f.Add(text)
	f.Add([]byte(`[{"cat":"Node","ph":"X","ts":1,"dur":-2,"args":{"op_name":"X","input_type_shape":[{"f":[1e3,-9]}],` +
		`"output_size":"-1"}}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		recordtest.Check(t, ort.Records(bytes.NewReader(text), "fuzz", nil))
		// A source of one byte at a time forces the lexer.
		straight := recordtest.Transcript(t, ort.Records(bytes.NewReader(text), "fuzz", nil))
		general := recordtest.Transcript(t, ort.Records(iotest.OneByteReader(bytes.NewReader(text)), "fuzz", nil))
		check.Equal(t, "in one pass", general, straight)
	})
}

func BenchmarkReadORT(b *testing.B) {
	const event = `{"cat" : "Node","pid" :4711,"tid" :4711,"dur" :857,"ts" :2002,"ph" : "X",` +
		`"name" :"conv1_kernel_time","args" : {"output_type_shape" : [{"float":[1,64,111,111]}],` +
		`"output_size" : "3154176","parameter_size" : "7168","activation_size" : "602112","node_index" : "0",` +
		`"input_type_shape" : [{"float":[1,3,224,224]},{"float":[64,3,3,3]},{"float":[64]}],` +
		`"provider" : "CPUExecutionProvider","op_name" : "Conv"}}`
	const events = 10_000
	text := []byte("[" + strings.Repeat(event+",\n", events-1) + event + "]")
	recordtest.Benchmark(b, text, events, ort.Records)
}

func TestRecordsEnd(t *testing.T) {
	recordtest.Ends(t, ort.Records, string(check.Must(os.ReadFile("testdata/squeeze.json"))(t))[:2000])
}

// DirectML's nodes state no arguments; their names tell them apart.
func TestNodesOfDirectML(t *testing.T) {
	text, err := os.ReadFile("../../../shared/data/reports/35-ort-dml-noargs.json")
	if err != nil {
		t.Skip(err)
	}
	entries, spans := recordtest.Split(t, ort.Records(strings.NewReader(string(text)), "profile", nil))
	got := make(map[string]int64)
	for _, e := range entries {
		got[e.Operation+" "+e.DeviceID] = e.Duration
	}
	check.Equal(t, "nodes", map[string]int64{
		"DmlFusedNode_0_41 ": 378000, "DmlFusedNode_4_63 ": 150000, "/0/STFT ": 661000,
	}, got)
	check.Equal(t, "events of the session", 2, len(spans))
}
