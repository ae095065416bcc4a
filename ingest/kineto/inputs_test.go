package kineto

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/internal/read/budget"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

// The kernels that do an operator's work have its FLOPs, divided among them.
func TestKernelsShareTheFLOPsOfTheirOperator(t *testing.T) {
	const trace = `[{"ph":"X","cat":"cpu_op","name":"aten::conv2d","pid":1,"tid":1,"ts":1,"dur":9,"args":{"External id":7,
		"Input Dims":[[8,3,224,224],[64,3,7,7],[],[],[],[],[]],"Input type":["float","float","","ScalarList","ScalarList","ScalarList","Scalar"],
		"Concrete Inputs":["","","","[2, 2]","[3, 3]","[1, 1]","1"]}},
		{"ph":"X","cat":"kernel","name":"implicit_convolve_sgemm","pid":0,"tid":7,"ts":5,"dur":2,
		"args":{"External id":7,"device":0,"stream":7}},
		{"ph":"X","cat":"kernel","name":"nchwToNhwcTransform","pid":0,"tid":7,"ts":8,"dur":2,
		"args":{"External id":7,"device":0,"stream":7}},
		{"ph":"X","cat":"kernel","name":"cutlass_fprop","pid":0,"tid":7,"ts":12,"dur":2,
		"args":{"External id":7,"device":0,"stream":7}}]`
	entries, _ := recordtest.Split(t, Records(strings.NewReader(trace), "trace", nil))
	const all = 2 * 3 * 7 * 7 * 8 * 64 * 112 * 112 // 2 for each of 3×7×7 products of each element of the output
	got := make(map[string]op.Int)
	for _, e := range entries {
		got[e.Operation] = flops.Of(e).FLOPs
	}
	check.Equal(t, "FLOPs", map[string]op.Int{
		"aten::conv2d": op.Known(all), "implicit_convolve_sgemm": op.Known(all / 2), "cutlass_fprop": op.Known(all / 2), "nchwToNhwcTransform": {},
	}, got)
}

// TestRowSizes checks the figures of the package comment.
func TestRowSizes(t *testing.T) {
	for _, test := range []struct {
		row       string
		got, want uintptr
	}{
		{"host operator, with its place in the order of the join", unsafe.Sizeof(hostOp{}) + unsafe.Sizeof(int32(0)),
			52},
		{"runtime call, with its place too", unsafe.Sizeof(launch{}) + unsafe.Sizeof(int32(0)), 52},
		{"number of autograd, with its place too", unsafe.Sizeof(gradient{}) + unsafe.Sizeof(int32(0)), 20},
		{"device event", unsafe.Sizeof(deviceOp{}), 72},
		{"collective", unsafe.Sizeof(collective{}), 128},
	} {
		check.Equal(t, fmt.Sprintf("%s: bytes", test.row), test.want, test.got)
	}
}

// Reading a large trace allocates little beside the rows: neither the text nor copies of rows.
func TestMemoryIsThatOfTheRows(t *testing.T) {
	cases.NotUnderRace(t, "measures memory")
	const events = 50_000
	r, _ := newReader(strings.NewReader("["+strings.Repeat(threeEvents+",", events)+`{"ph":"M"}]`), "trace", nil)
	r.yield = func(op.Record, error) bool { return true }
	allocated := check.Allocated(func() {
		if !r.readEvents() || !r.readTail() || r.events.Err() != nil {
			t.Fatal(r.events.Err())
		}
	})
	const some = 4 << 20 // buffers, symbols and caches
	held := r.tables.heldBytes()
	if held < events*(52+36+72) || allocated > held*5/4+some {
		t.Errorf("%d bytes allocated for %d bytes of rows", allocated, held)
	}
}

// threeEvents are an operator, a launch and a kernel.
const threeEvents = `{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":2,"ts":5,"dur":9,"args":{"External id":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":2,"ts":6,"dur":2,"args":{"correlation":7}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":9,"dur":9,"args":{"device":0,"stream":7,"correlation":7}}`

func TestTablesAreLimited(t *testing.T) {
	const event = `{"ph":"X","cat":"kernel","name":"gemm","ts":1,"dur":2}`
	r, _ := newReader(strings.NewReader("["+strings.Repeat(event+",", 3000)+event+"]"), "trace", nil)
	var last error
	n := 0
	r.yield = func(_ op.Record, err error) bool {
		n++
		last = err
		return true
	}
	r.held.Hold = budget.UpTo(100_000, errTooLarge, nil)
	if r.readEvents() || n != 1 || last == nil || !strings.Contains(last.Error(), "of memory") {
		t.Errorf("%d records, err = %v", n, last)
	}
}
