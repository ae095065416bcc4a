package kineto

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/internal/read/budget"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

func TestParseInputs(t *testing.T) {
	many := strings.Repeat("[1],", op.MaxInputs) + "[1]"
	deep := strings.Repeat("1,", op.MaxRank) + "1"
	for _, test := range []struct {
		name, dims, types string
		shapes            string // joined by blanks
		dtypes            []op.DType
		warn              op.Warning
	}{
		{"tensors", `[[64,784],[784,256]]`, `["float","c10::Half"]`, "64x784 784x256", []op.DType{op.F32, op.F16}, 0},
		{"no inputs", `[]`, `[]`, "", nil, 0},
		{"a scalar tensor", `[[]]`, `["long int"]`, "scalar", []op.DType{op.I64}, 0},
		{"a number by value", `[[2],[]]`, `["float","Scalar"]`, "2 scalar", []op.DType{op.F32, ""}, 0},
		{"no tensor", `[[],[],[]]`, `["","ScalarList","Device"]`, "? ? ?", nil, 0},
		{"no types", `[[2],[]]`, ``, "2 scalar", nil, 0},
		{"types of the wrong type", `[[2],[]]`, `[1,null]`, "2 ?", nil, 0},
		{"fewer types", `[[2],[]]`, `["double"]`, "2 ?", []op.DType{op.F64, ""}, 0},
		{"a list of tensors", `[[[2,3],[4],[]],[5]]`, `["TensorList","float"]`, "2x3 4 scalar 5",
			[]op.DType{"", "", "", op.F32}, 0},
		{"lists of lists", `[[[[2]],[[3],[4]]]]`, `["GenericList"]`, "2 3 4", nil, 0},
		{"a dynamic dimension", `[[-1,3]]`, `["float"]`, "?x3", []op.DType{op.F32}, 0},
		{"a bad dimension", `[[-2,3],[4]]`, `["float","float"]`, "? 4", []op.DType{op.F32, op.F32}, op.WarnBadShape},
		{"a dimension that is none", `[["2"],[2.5],[1e3]]`, `["float","float","float"]`, "? ? 1000",
			[]op.DType{op.F32, op.F32, op.F32},
			op.WarnBadShape},
		{"an input that is no list", `[7,[1]]`, `["float","float"]`, "? 1", []op.DType{"", op.F32}, op.WarnBadShape},
		{"no list", `{"a":1}`, `["float"]`, "", nil, op.WarnBadShape},
		{"too many inputs", "[" + many + "]", ``, strings.TrimSpace(strings.Repeat("1 ", op.MaxInputs)), nil,
			op.WarnShapeTruncated},
		{"too many dimensions", "[[" + deep + "]]", ``, strings.TrimSuffix(strings.Repeat("1x", op.MaxRank), "x"), nil,
			op.WarnShapeTruncated},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := parseInputs(string(appendInputsKey(nil, nil, &values{dims: []byte(test.dims),
				types: []byte(test.types)})))
			var shapes []string
			for _, s := range in.shapes {
				shapes = append(shapes, s.String())
			}
			check.Equal(t, "shapes", test.shapes, strings.Join(shapes, " "))
			if diff := cmp.Diff(test.dtypes, in.dtypes); diff != "" || in.warn != test.warn {
				t.Errorf("warning %v, want %v; types (-want +got):\n%s", in.warn, test.warn, diff)
			}
		})
	}
}

func TestConvolutionOutput(t *testing.T) {
	const (
		input = `[[8,3,224,224],[64,3,7,7],[],[],[],[],[]]` // the first layer of ResNet
		want  = "8x64x112x112"
	)
	for _, test := range []struct{ name, operator, dims, concrete, output string }{
		{"conv2d", "aten::conv2d", input, `["","","","[2, 2]","[3, 3]","[1, 1]","1"]`, want},
		{"one value for all", "aten::conv2d", input, `["","","","[2]","[3]","[1]","1"]`, want},
		{"convolution", "aten::convolution", input, `["","","","[2, 2]","[3, 3]","[1, 1]","False","[0, 0]","1"]`, want},
		{"cuDNN's order", "aten::cudnn_convolution", input,
			`["","","[3, 3]","[2, 2]","[1, 1]","1","False","False","True"]`, want},
		{"MIOpen's order", "aten::miopen_convolution", input,
			`["","","","[3, 3]","[2, 2]","[1, 1]","1","False","False"]`, want},
		{"dilation", "aten::conv1d", `[[1,4,10],[6,4,3]]`, `["","","","[1]","[0]","[2]","1"]`, "1x6x6"},
		{"groups", "aten::conv2d", `[[1,32,8,8],[32,1,3,3]]`, `["","","","[1, 1]","[1, 1]","[1, 1]","32"]`, "1x32x8x8"},
		{"different sides", "aten::conv2d", `[[1,2,9,20],[4,2,3,5]]`, `["","","","[1, 3]","[1, 0]","[1, 2]","1"]`,
			"1x4x9x4"},
		{"transposed", "aten::convolution", input, `["","","","[2, 2]","[3, 3]","[1, 1]","True","[0, 0]","1"]`, "?"},
		{"padding in words", "aten::conv2d", input, `["","","","[2, 2]","same","[1, 1]","1"]`, "?"},
		{"the kernel does not fit", "aten::conv1d", `[[1,4,2],[6,4,3]]`, `["","","","[1]","[0]","[1]","1"]`, "?"},
		{"no stride", "aten::conv1d", `[[1,4,9],[6,4,3]]`, `["","","","[0]","[0]","[1]","1"]`, "?"},
		{"unknown padding", "aten::conv2d", input, `["","","","[2, 2]","[3, null]","[1, 1]","1"]`, "?"},
		{"negative padding", "aten::conv1d", `[[1,4,9],[6,4,3]]`, `["","","","[1]","[-1]","[1]","1"]`, "?"},
		{"too large", "aten::conv1d", `[[1,4,9],[6,4,3]]`, `["","","","[1]","[9223372036854775807]","[1]","1"]`, "?"},
		{"not a list", "aten::conv1d", `[[1,4,9],[6,4,3]]`, `["","","","1","0","1","1"]`, "?"},
		{"too few values", "aten::conv2d", input, `["","","","[2, 2]","[3, 3]"]`, "?"},
		{"too few for the sides", "aten::conv3d", `[[1,4,9,9,9],[6,4,3,3,3]]`,
			`["","","","[1, 1]","[0, 0]","[1, 1]","1"]`, "?"},
		{"no values", "aten::conv2d", input, `{}`, "?"},
		{"no batch", "aten::conv2d", `[[3,224,224],[64,3,7,7]]`, `["","","","[2, 2]","[3, 3]","[1, 1]","1"]`, "?"},
		{"another operator", "aten::linear", input, `["","","","[2, 2]","[3, 3]","[1, 1]","1"]`, "?"},
		{"no weights", "aten::conv2d", `[[8,3,224,224]]`, `["","","","[2, 2]","[3, 3]","[1, 1]","1"]`, "?"},
	} {
		t.Run(test.name, func(t *testing.T) {
			key := appendInputsKey(nil, []byte(test.operator), &values{dims: []byte(test.dims),
				concrete: []byte(test.concrete)})
			check.Equal(t, "output", test.output, parseInputs(string(key)).output.String())
		})
	}
}

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
