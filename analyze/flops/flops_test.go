package flops_test

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/ingest/ort"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
)

// entry returns an operation with shapes such as "64x784 784x256 -> 64x256 f32". "?" is unknown and "[]" a scalar.
func entry(t testing.TB, name, shapes string) *op.Entry {
	t.Helper()
	e := &op.Entry{Operation: name, Kind: op.KindCompute}
	inputs, output, _ := strings.Cut(shapes, "->")
	for text := range strings.FieldsSeq(inputs) {
		e.InputShapes = append(e.InputShapes, shape(t, text))
	}
	if fields := strings.Fields(output); len(fields) > 0 {
		e.OutputShape = shape(t, fields[0])
		if len(fields) > 1 {
			e.DType = op.DType(fields[1])
		}
	}
	return e
}

func shape(t testing.TB, text string) op.Shape {
	t.Helper()
	if text == "?" {
		return nil
	}
	s := parseShape(text)
	if s == nil {
		t.Fatalf("%q is no shape", text)
	}
	return s
}

// parseShape returns the shape that readers make of a text, nil for none.
func parseShape(text string) op.Shape {
	b := attrmap.NewBuilder(nil)
	b.Reset()
	b.Str(attrkey.Name, "any")
	b.Str(attrkey.OutputShape, text)
	e, _ := b.Entry()
	return e.OutputShape
}

// Operations have the work that testdata/work.txt computes by hand.
func TestWork(t *testing.T) {
	known := func(text string) op.Int {
		if text == "?" {
			return op.Int{}
		}
		return op.Known(check.Must(strconv.ParseInt(text, 10, 64))(t))
	}
	rows := 0
	for line := range strings.Lines(string(check.Must(os.ReadFile("testdata/work.txt"))(t))) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		cells := append(strings.Split(line, "|"), make([]string, 6)...)
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		e := entry(t, cells[0], cells[2])
		e.LaunchedBy = cells[1]
		for name := range strings.FieldsSeq(cells[3]) {
			e.InputDTypes = append(e.InputDTypes, op.DType(strings.TrimPrefix(name, "-")))
		}
		got := flops.Of(e)
		if cells[4] != "" {
			check.Equal(t, line+": FLOPs", known(cells[4]), got.FLOPs)
		}
		if bytes, dtype, _ := strings.Cut(cells[5], " "); bytes != "" {
			check.Equal(t, line, flops.Work{FLOPs: got.FLOPs, Bytes: known(bytes), DType: op.DType(dtype)}, got)
		}
		rows++
	}
	if rows < 150 {
		t.Errorf("only %d rows", rows)
	}
}

func TestOnlyWhatComputesHasWork(t *testing.T) {
	for _, kind := range []op.Kind{op.KindCollective, op.KindMemory, op.KindIO, op.KindControl} {
		e := entry(t, "add", "5x7 5x7 -> 5x7 f32")
		e.Kind = kind
		check.Equal(t, fmt.Sprint(kind), flops.Work{}, flops.Of(e))
	}
	e := entry(t, "add", "5x7 5x7")
	e.Kind = op.KindUnknown
	check.Equal(t, "what nothing is known of", op.Known(35), flops.Of(e).FLOPs)
	e = entry(t, "matmul", "8x8 8x8 -> 8x8 c64")
	check.Equal(t, "complex numbers", flops.Work{}, flops.Of(e))
}

func TestNames(t *testing.T) {
	golden.Lines(t, "testdata/names.txt", func(name string) string {
		return fmt.Sprintf("attention %t, elementwise %t", flops.IsAttention(name), flops.IsElementwise(name))
	})
}

// Any shapes give non-negative figures without panics, and the same figures in a second call.
func FuzzOf(f *testing.F) {
	f.Add("matmul", "64x784 784x256", "64x256", "f32")
	f.Add("aten::conv2d", "1x3x8x8 4x3x1x1", "1x4x8x8", "bf16")
	f.Add("Attention", "2x16x32 32x96 96", "2x16x32", "f16")
	f.Add("scaled_dot_product_attention", "2x8x1x64 2x0x128x64 2x2x128x32", "2x8x1x32", "")
	f.Add("aten::addmm_", "9223372036854775807 9223372036854775807x2 2x2", "", "f64")
	f.Fuzz(func(t *testing.T, name, inputs, output, dtype string) {
		e := &op.Entry{Operation: name, DType: op.DType(dtype)}
		for text := range strings.FieldsSeq(inputs) {
			e.InputShapes = append(e.InputShapes, parseShape(text))
		}
		e.OutputShape = parseShape(output)
		for _, s := range append(e.InputShapes, e.OutputShape) {
			for _, d := range s {
				if d < op.Dynamic {
					t.Skip("no entry has such a shape")
				}
			}
		}
		w := flops.Of(e)
		if w.FLOPs.V < 0 || w.Bytes.V < 0 || !w.FLOPs.Known && w != (flops.Work{}) {
			t.Fatalf("%+v", w)
		}
		if again := flops.Of(e); again != w {
			t.Fatalf("%+v, then %+v", w, again)
		}
	})
}

func TestNoAllocations(t *testing.T) {
	for _, e := range []*op.Entry{
		entry(t, "matmul", "5x1x64x32 8x32x16 -> 5x8x64x16 f32"),
		entry(t, "aten::scaled_dot_product_attention", "2x8x128x64 2x8x128x64 2x8x128x64 ?"),
		entry(t, "add", "5x7 7 -> 5x7 f32"),
		entry(t, "mystery", "5x7 7 -> 5x7 f32"),
	} {
		check.Equal(t, fmt.Sprintf("%s: allocations", e.Operation), 0,
			testing.AllocsPerRun(100, func() { flops.Of(e) }))
	}
}

func BenchmarkOf(b *testing.B) {
	for _, e := range []*op.Entry{
		entry(b, "matmul", "64x784 784x256 -> 64x256 f32"),
		entry(b, "matmul", "8x64x784 784x256 -> 8x64x256 f32"),
		entry(b, "add", "28x384x320 28x384x320 -> 28x384x320 f32"),
		entry(b, "bias_add", "28x384x320 320 -> 28x384x320 f32"),
	} {
		b.Run(e.Operation, func(b *testing.B) {
			f := flops.Find(e.Operation)
			total := int64(0)
			for b.Loop() {
				total |= f.Of(e).FLOPs.V
			}
			if total == math.MaxInt64 {
				b.Fatal(total)
			}
		})
	}
}

// Operations of a recorded model run have the expected work.
func TestOperationsOfAModel(t *testing.T) {
	file := check.Must(os.Open("../../ingest/ort/testdata/ocr.json"))(t)
	defer file.Close()
	sums := map[string]int64{}
	unknown := map[string]int{}
	convolutions := 0
	for rec, err := range ort.Records(file, "ocr.json", nil) {
		check.OK(t, err)
		e := rec.Entry
		if e == nil {
			continue
		}
		w := flops.Of(e)
		if w.FLOPs.Known {
			sums[e.Operation] += w.FLOPs.V
		} else {
			unknown[e.Operation]++
		}
		if e.Operation == "Conv" { // a product and a sum for each output, channel of the group and place of the kernel
			convolutions++
			k := e.InputShapes[1]
			out := e.OutputShape
			check.Equal(t, e.Path, op.Known(2*out[0]*out[1]*out[2]*out[3]*k[1]*k[2]*k[3]), w.FLOPs)
		}
	}
	check.Equal(t, "convolutions", 11, convolutions)
	// 4 products of 20×120 by 120×360, 120×120, 120×240 and 240×120, each twice, and
	// twice 8 heads of 20×15 by 15×20 and of 20×20 by 20×15.
	for name, want := range map[string]int64{
		"MatMul":             2 * 2 * (20*120*(360+120+240+240) + 2*8*20*15*20),
		"FusedMatMul":        2 * 20 * 120 * 6625, // the first one transposed, the other one packed
		"LayerNormalization": 5 * 5 * 20 * 120,    // five, with weights
		"Softmax":            5 * (2*8*20*20 + 20*6625),
	} {
		check.Equal(t, name, want, sums[name])
	}
	check.Equal(t, "unknown", map[string]int{"AveragePool": 1, "Shape": 3}, unknown)
}
