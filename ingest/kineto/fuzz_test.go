package kineto_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/optrace/optrace/ingest/kineto"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op/attr"
)

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
