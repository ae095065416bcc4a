package kineto_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// recorded is the folder of traces of other projects, see [recordtest.Figures].
const recorded = "../../../shared/data/kineto"

// expectation has independently computed figures of a recorded trace.
type expectation struct {
	File    string
	Rank    *int64
	CPUOps  int                      `json:"cpu_ops"`
	Devices map[string]deviceFigures `json:"devices"`
}

// deviceFigures are the figures of a device without its timeline, see TestRecordedTimelines of package ingest.
type deviceFigures struct {
	Events      int   `json:"events"`
	Sum         int64 `json:"sum_duration_ns"`
	DistinctOps int   `json:"distinct_ops"`
	// Top lists name, count and sum of the operations with the largest sums.
	Top [][3]any `json:"top"`
}

func expectations(t *testing.T) []expectation { return recordtest.Figures[expectation](t, recorded) }

func openRecorded(t testing.TB, name string) io.Reader {
	t.Helper()
	f, err := os.Open(filepath.Join(recorded, name))
	if err != nil {
		t.Skipf("needs %s from tests/data of github.com/facebookresearch/HolisticTraceAnalysis in %s: %v", name,
			recorded, err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return check.Must(gzip.NewReader(bufio.NewReader(f)))(t)
}

func TestRecordedTraces(t *testing.T) {
	for _, want := range expectations(t) {
		t.Run(want.File, func(t *testing.T) {
			got := expectation{File: want.File, Devices: map[string]deviceFigures{}}
			sums := map[[2]string][2]int64{} // counts and nanoseconds by device and operation
			entries, _ := recordtest.Split(t, kineto.Records(openRecorded(t, want.File), want.File, nil))
			for _, e := range entries {
				check.OK(t, e.Validate())
				if e.Rank.Known {
					got.Rank = &e.Rank.V
				}
				if e.Side == op.SideHost {
					got.CPUOps++
					continue
				}
				device := strings.TrimPrefix(e.DeviceID, "cuda:")
				key := [2]string{device, e.Operation}
				d := got.Devices[device]
				sum := sums[key]
				if sum[0] == 0 {
					d.DistinctOps++
				}
				d.Events, d.Sum = d.Events+1, d.Sum+e.Duration
				got.Devices[device] = d
				sums[key] = [2]int64{sum[0] + 1, sum[1] + e.Duration}
			}
			for device, d := range got.Devices {
				for _, top := range want.Devices[device].Top {
					sum := sums[[2]string{device, top[0].(string)}]
					d.Top = append(d.Top, [3]any{top[0], json.Number(fmt.Sprint(sum[0])),
						json.Number(fmt.Sprint(sum[1]))})
				}
				got.Devices[device] = d
			}
			check.Equal(t, "figures", want, got)
		})
	}
}

// FuzzRecords checks that no input makes the reader panic, that entries are valid and survive JSON Lines, and that the
// lexer gives the same entries.
func FuzzRecords(f *testing.F) {
	files := check.Must(filepath.Glob("testdata/*.json"))(f)
	for _, file := range files {
		text := check.Must(os.ReadFile(file))(f)
		f.Add(text)
	}
	f.Add([]byte(`[{"ph":"X","cat":"cpu_op","name":"\ud800","ts":1e3,"dur":-1,"args":{"Input Dims":[[[-9]],[1e30]],` +
		`"Input type":7}}`))
	f.Add([]byte(`[{"ph":"X","cat":"cpu_op","name":"aten::conv1d","ts":1,"dur":1,"args":{"Input Dims":[[1,4,9],[6,4,` +
		`3]],"Concrete Inputs":["","","","[1]","[0]","[1]","1"]}}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m := &attr.Mapping{}
		m.Keep("queued")
		recordtest.Check(t, kineto.Records(bytes.NewReader(text), "fuzz", m))
		checkStraight(t, text)
	})
}

// events is the number of events in the benchmark's trace, a third each operators, launches and kernels.
const events = 30_000

func benchmarkTrace() []byte {
	const triple = `{"ph":"X","cat":"cpu_op","name":"aten::addmm","pid":100,"tid":100,"ts":4458676524648.797,` +
		`"dur":60.001,` +
		`"args":{"External id":11,"Input type":["float","float","float","Scalar"],"Input Dims":[[256],[64,784],[784,256],[]],"Ev Idx":3}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":100,"tid":100,"ts":4458676524650.5,"dur":5.25,` +
		`"args":{"External id":11,"cbid":211,"correlation":501}},
{"ph":"X","cat":"kernel","name":"ampere_sgemm_128x64_tn","pid":0,"tid":7,"ts":4458676524660.123,"dur":50.377,` +
		`"args":{"External id":11,"queued":0,"device":0,"context":1,"stream":7,"correlation":501,` +
		`"registers per thread":122,"shared memory":16384,"blocks per SM":0.074074,"warps per SM":0.296296,"grid":[4,` +
		`2,1],"block":[128,1,1],"est. achieved occupancy %":0}}`
	return []byte(`{"traceEvents":[` + strings.Repeat(triple+",", events/3-1) + triple +
		`],"baseTimeNanoseconds":1750000000000000000}`)
}

func BenchmarkReadKineto(b *testing.B) {
	text := benchmarkTrace()
	recordtest.Benchmark(b, text, events/3*2, kineto.Records)
}

func BenchmarkReadChromeSpans(b *testing.B) {
	const span = `{"name":"matmul","ph":"X","cat":"op","pid":1,"tid":1,"ts":1750000000000100.125,"dur":0.6,` +
		`"args":{"tensor.op.name":"matmul","tensor.device.id":"cuda:0","tensor.input.shapes":[[64,784],[784,256]],` +
		`"tensor.output.shape":[64,256],"tensor.dtype":"f32"}}`
	text := []byte("[" + strings.Repeat(span+",", events-1) + span + "]")
	recordtest.Benchmark(b, text, events, kineto.Records)
}

func TestRecordsAllocateLittlePerEvent(t *testing.T) {
	cases.NotUnderRace(t, "measures allocations")
	text := benchmarkTrace()
	allocs := testing.AllocsPerRun(2, func() {
		for _, err := range kineto.Records(bytes.NewReader(text), "trace", nil) {
			check.OK(t, err)
		}
	})
	if allocs > events/50 {
		t.Errorf("%.0f allocations for %d events", allocs, events)
	}
}

// records returns all records and errors of a trace as text.
func records(t *testing.T, src io.Reader) string {
	m := &attr.Mapping{}
	for _, key := range []string{"queued", "correlation", "Input Dims", "Seq", "note"} {
		m.Keep(key)
	}
	return recordtest.Transcript(t, kineto.Records(src, "trace", m))
}

// checkStraight compares one-pass reading with the lexer. A source of one byte at a time never holds a whole event, and
// so forces the lexer.
func checkStraight(t *testing.T, text []byte) {
	t.Helper()
	straight := records(t, bytes.NewReader(text))
	general := records(t, iotest.OneByteReader(bytes.NewReader(text)))
	if diff := cmp.Diff(general, straight); diff != "" {
		t.Fatalf("%s\n(-by the lexer +in one pass):\n%s", text[:min(len(text), 2000)], diff)
	}
}

func TestStraightEqualsGeneral(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text := check.Must(os.ReadFile(name))(t)
		checkStraight(t, text)
		for _, size := range []int{1, 3, 5} {
			checkStraight(t, text[:len(text)*size/7])
		}
	}
}

func TestRecordedTracesStraight(t *testing.T) {
	for _, want := range expectations(t) {
		text := check.Must(io.ReadAll(openRecorded(t, want.File)))(t)
		checkStraight(t, text)
	}
}

// TestRandomTracesStraight compares the two on events in many forms, some of them invalid JSON.
func TestRandomTracesStraight(t *testing.T) {
	for seed := range cases.Numbers(t, 400) {
		rng := rand.New(rand.NewPCG(seed, 3))
		w := &traceWriter{rng: rng}
		text := w.trace()
		if rng.IntN(5) == 0 { // as ONNX Runtime writes it
			text = strings.ReplaceAll(text, `":`, `" :`)
		}
		checkStraight(t, []byte(text))
		for range 5 { // and with a byte that does not belong there
			broken := []byte(text)
			const bytes = "{}[],:\"\\0123456789.eE+-tfnaux \n\t\x01\xff"
			broken[rng.IntN(len(broken))] = bytes[rng.IntN(len(bytes))]
			checkStraight(t, broken)
		}
	}
}

type traceWriter struct{ rng *rand.Rand }

func (w *traceWriter) one(texts ...string) string { return texts[w.rng.IntN(len(texts))] }

// often returns the first text in most cases.
func (w *traceWriter) often(usual string, others ...string) string {
	if w.rng.IntN(12) > 0 {
		return usual
	}
	return w.one(others...)
}

func (w *traceWriter) trace() string {
	events := make([]string, w.rng.IntN(12))
	for i := range events {
		events[i] = w.event()
	}
	list := "[" + strings.Join(events, w.often(",", ", ", ",\n  ")) + w.often("]", "] ", ",]", "")
	return w.often(`{"distributedInfo":{"rank":3},"traceEvents": `+list+`,"baseTimeNanoseconds":1750000000000000000}`,
		list, "\ufeff"+list)
}

func (w *traceWriter) event() string {
	members := []string{
		w.often(`"ph":"X"`, `"ph": "X"`, `"ph" : "X"`, "\"ph\"\t:\"X\"", `"ph":"s"`, `"ph":"B"`,
			`"ph":"E"`, `"ph":"M"`, `"ph":7`, `"ph":""`, `"ph":"\u0058"`, `"ph":"XY"`),
		`"cat": ` + w.one(`"cpu_op"`, `"kernel"`, `"gpu_memcpy"`, `"cuda_runtime"`, `"user_annotation"`, `"op"`,
			`"cuda_sync"`,
			`"k\u0065rnel"`, `null`),
		w.often(`"name":`, `"name" :`, "\"name\"\n:") + w.often(
			`"aten::mm"`, `"aten::conv1d"`, `"ProfilerStep#7"`, `"ncclKernel"`, `"a\"b"`, `""`, `5`, `"\ud800"`,
			"\"\xff\"", "\"a\nb\""),
		`"pid":` + w.often(strconv.Itoa(w.rng.IntN(3)), `"Spans"`, `-1`, `null`, `1.5`, `{"a":[]}`, `01`, `"\u0031"`),
		`"tid":` + w.often(strconv.Itoa(w.rng.IntN(3)), `"stream 7"`, `7e0`, `[1, 2]`),
		`"ts":` + w.often(strconv.Itoa(w.rng.IntN(100))+w.one("", ".5", ".125"), `null`, `-3`, `1e2`, `1.23456`, `"5"`,
			`99999999999999999999`, `1.`),
		`"dur":` + w.often(strconv.Itoa(w.rng.IntN(50))+w.one("", ".001"), `null`, `-1`, `0`, `1E1`),
	}
	if w.rng.IntN(5) > 0 {
		members = append(members, `"args":`+w.often(w.args(), `null`, `[]`, `{ }`, `{}`))
	}
	more := w.often(`"id":7`, `"bp":"e","s":[{}]`, `"args":`+w.args(), `"cat":"kernel"`, `"name":"again"`,
		`"other":{"a":[tru]}`)
	members = append(members, more)
	if w.rng.IntN(4) == 0 {
		w.rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	if w.rng.IntN(8) == 0 {
		members = members[w.rng.IntN(len(members)):]
	}
	return w.often("{", "{ ", "{\n    ") + strings.Join(members, w.often(", ", ",", ",\n    ", ", \n ")) +
		w.often("}", "\n  }", "")
}

func (w *traceWriter) args() string {
	number := func() string {
		return w.often(strconv.Itoa(w.rng.IntN(9)), `"5"`, `-1`, `2.0`, `1e1`, `1.5`, `null`, `true`, `"x"`, `"\u0037"`,
			`9223372036854775808`, `007`, `[1]`)
	}
	text := func() string { return w.often(`"all_reduce"`, `"send"`, `"a\u0062"`, `""`, `7`, "\"\xff\"") }
	members := []string{
		`"correlation": ` + number(), `"External id":` + number(), `"device":` + number(), `"stream":` + number(),
		`"bytes":` + number(),
		`"size":` + number(), `"Ev Idx": ` + number(), `"queued":` + number(), `"grid": [4, 2,1]`,
		`"est. achieved occupancy %":0.5`,
		`"Input Dims": ` + w.often(`[[2,3],[],[[4],[5,6]]]`, `[[1,4,9],[6,4,3]]`, `[]`, `7`, `[[1e30]]`, `[[2,3]`,
			`null`),
		`"Concrete Inputs":` + w.often(`["","","","[1]","[0]","[1]","1"]`, `["","","[\u0031]"]`, `[7]`, `7`,
			`["a\"b"]`),
		`"Input type":` + w.often(`["float","Scalar","TensorList"]`, `["c10::Half"]`, `7`, `["\u0066loat"]`),
		`"Collective name":` + text(), `"Process Group Name":` + text(), `"Group size":` + number(), `"Seq":` +
			number(),
		`"In msg nelems":` + number(), `"Out msg nelems":` + number(), `"dtype":` + w.often(`"Float"`, `"BFloat16"`,
			`"odd"`, `1`),
		`"Rank":` + number(), `"Src Rank":` + number(), `"Dst Rank":` + number(), `"n\u006fte":` + text(), `"note" : ` +
			text(),
		`"tensor.op.name":"mm"`, `"":1`, `"` + strings.Repeat("k", 70) + `":1`,
	}
	w.rng.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	return "{" + strings.Join(members[:w.rng.IntN(len(members))], w.often(",", ", ", ",      ", " ,")) +
		w.often("}", "\n    }", ",}", "]")
}
