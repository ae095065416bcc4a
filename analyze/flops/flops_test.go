package flops_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/ingest/ort"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/testing/check"
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

const unknown = -1

func known(n int64) op.Int {
	if n == unknown {
		return op.Int{}
	}
	return op.Known(n)
}

// The figures were computed by hand.
func TestFLOPs(t *testing.T) {
	for _, test := range []struct {
		name, shapes string
		want         int64
	}{
		{"matmul", "64x784 784x256 -> 64x256", 25_690_112}, // 2·64·784·256
		{"matmul", "64x784 784x256", 25_690_112},
		{"matmul", "784x64 784x256 -> 64x256", 25_690_112}, // the first one transposed
		{"matmul", "64x784 256x784 -> 64x256", 25_690_112},
		{"matmul", "784x64 256x784 -> 64x256", 25_690_112},
		{"matmul", "2x3 3x2", 24},             // 2·2·3·2
		{"matmul", "2x3 3x2 -> 3x3", 36},      // both transposed: 2·3·2·3
		{"matmul", "64x784 256x784", unknown}, // without an output none is transposed
		{"matmul", "64x784 784x256 -> 64x255", unknown},
		{"matmul", "64x784 ? -> 64x256", 25_690_112},  // whatever the other one is, it has 784 rows
		{"MatMul", "1x20x120 -> 1x20x360", 1_728_000}, // 2·20·120·360
		{"FusedMatMul", "1x120x20 -> 1x20x6625", 31_800_000},
		{"matmul", "64x784 -> 65x256", unknown},
		{"matmul", "64 -> 256", unknown},
		{"matmul", "2x64x784 -> 3x64x256", unknown},
		{"matmul", "? 784x256 -> 64x256", unknown},
		{"matmul", "-> 64x256", unknown},
		{"matmul", "64x-1 -1x256 -> 64x256", unknown},
		{"matmul", "-1x784 784x256 -> -1x256", unknown},
		{"matmul", "0x784 784x256 -> 0x256", 0},
		{"matmul", "4294967296x4294967296 4294967296x2", unknown}, // 2^66
		{"matmul", "8x64x32 8x32x16 -> 8x64x16", 524_288},         // 8·2·64·32·16
		{"matmul", "5x1x64x32 8x32x16 -> 5x8x64x16", 2_621_440},   // 5·8 products
		{"matmul", "8x64x32 32x16", 524_288},
		{"matmul", "8x64x32 7x32x16", unknown},
		{"matmul", "64x32 32 -> 64", 4096},
		{"matmul", "32 32x16 -> 16", 1024},
		{"matmul", "32 32", 64},
		{"matmul", "[] 3", unknown},
		{"MatMul", "1x40x120 120x360 -> 1x40x360", 3_456_000}, // 2·40·120·360
		{"Gemm", "1x128 10x128 10 -> 1x10", 2560},
		{"Gemm", "1x200 2 -> 1x2", 800}, // the weights are packed
		{"Gemm", "200x1 2 -> 1x2", 800},
		{"Gemm", "1x200 2", unknown},
		{"QLinearMatMul", "8x4 [] [] 4x2 [] [] [] [] -> 8x2", 128},
		{"aten::mm", "64x784 784x256", 25_690_112},
		{"aten::bmm", "8x64x32 8x32x16", 524_288},
		{"aten::addmm", "256 64x784 784x256 [] []", 25_690_112},
		{"aten::addmm_", "256 64x784 784x256 [] []", 25_690_112},
		{"aten::baddbmm", "8x64x16 8x64x32 8x32x16", 524_288},
		{"aten::addmm", "256", unknown},
		{"aten::linear", "4x16x784 256x784 256", 25_690_112},
		{"aten::linear", "4x16x784 256x783 256", unknown},
		{"linear", "64x784 784x256 256 -> 64x256", 25_690_112},
		{"linear", "64x784 784x256 256 -> 64x257", unknown},
		{"ampere_sgemm_128x64_nn", "64x784 784x256", 25_690_112},
		{"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128>", "256 64x784 784x256 [] []", 25_690_112},
		{"ampere_sgemm_128x64_nn", "64x783 784x256", unknown},
		{"sm80_xmma_fprop_implicit_gemm_f32f32", "64x784 784x256", unknown},

		{"add", "5x7 5x7 -> 5x7", 35},
		{"add", "5x7 7 -> 5x7", 35},
		{"add", "5x1 1x7", 35},
		{"add", "5x7 [] -> 5x7", 35},
		{"add", "5x7 5x7 -> 5x8", unknown},
		{"add", "5x7 5x6", unknown},
		{"add", "5x7", unknown}, // the other one may be larger
		{"add", "5x7 ?", unknown},
		{"add", "-> 5x7", 35},
		{"aten::add_.Tensor", "5x7 5x7 []", 35},
		{"aten::Add", "5x7 5x7", unknown},
		{"Sum", "5x7 5x7 7 -> 5x7", 70},
		{"Sum", "5x7 -> 5x7", 0},
		{"Sum", "", unknown},
		{"Sum", "-> 5x7", unknown},
		{"relu", "5x7 -> 5x7", 35},
		{"relu", "[] -> []", 1},
		{"relu", "1x7 -> 5x7", 35},
		{"relu", "5x7 -> 7", unknown},
		{"BiasGelu", "5x7 7 -> 5x7", 70},

		{"sum", "5x7 -> 5", 35},
		{"sum", "5x7 -> 5x8", unknown},
		{"ReduceMean", "5x7", 35},
		{"GlobalAveragePool", "1x8x6x6 -> 1x8x1x1", 288},
		{"softmax", "5x7 -> 5x7", 175}, // 5 each
		{"softmax", "5x7 -> 5x8", unknown},
		{"layer_norm", "5x7 -> 5x7", 140},
		{"layer_norm", "5x7 7 7 -> 5x7", 175},
		{"aten::layer_norm", "5x7 ? 7 7 [] []", 175},
		{"aten::layer_norm", "5x7 ? ? ? [] []", 140},
		{"BatchNormalization", "2x3x4x4 3 3 3 3 -> 2x3x4x4", 480},
		{"rms_norm", "5x7 7 -> 5x7", 140},
		{"embedding", "1000x64 2x8 -> 2x8x64", 0},
		{"embedding", "1000x64 2x8 -> 2x9x64", unknown},
		{"aten::view", "5x7 ?", 0},

		// 2 · 1·64·112·112 outputs · 3·7·7
		{"Conv", "1x3x224x224 64x3x7x7 64 -> 1x64x112x112", 236_027_904},
		{"conv2d", "1x32x28x28 32x1x3x3 -> 1x32x28x28", 451_584},   // 32 groups: 2 · 25088 · 1·9
		{"conv2d", "1x32x28x28 64x8x3x3 -> 1x64x26x26", 6_230_016}, // 4 groups: 2 · 43264 · 8·9
		{"conv2d", "1x32x28x28 63x8x3x3 -> 1x63x26x26", unknown},   // 63 outputs do not divide by 4
		{"conv2d", "1x32x28x28 64x9x3x3 -> 1x64x26x26", unknown},
		{"conv2d", "1x32x28x28 64x32x3x3", unknown},                 // the strides are not known
		{"conv2d", "1x28x28x3 3x3x3x64 -> 1x26x26x64", 2_336_256},   // channels last: 2 · 43264 · 27
		{"Conv", "1x128x1x1 480x128x1x1 480 -> 1x480x1x1", 122_880}, // channels last, the kernel is 480x128
		{"conv2d", "1x1x1x128 1x1x128x480 -> 1x1x1x480", 122_880},   // and first, 128x480
		{"conv2d", "1x4x4x4 4x4x4x4 -> 1x4x4x4", 8192},              // 2 · 64 · 64 either way
		{"conv2d", "1x8x8x8 8x8x8x4 -> 1x8x1x4", unknown},           // both fit
		{"conv1d", "2x4x10 6x4x3 -> 2x6x8", 2304},                   // 2 · 96 · 12
		{"conv1d", "2x4 6x4 -> 2x6", unknown},
		{"QLinearConv", "1x3x8x8 [] [] 4x3x1x1 [] [] [] [] -> 1x4x8x8", 1536}, // 2 · 256 · 3
		{"ConvTranspose", "1x16x8x8 16x4x2x2 -> 1x4x16x16", 32_768},           // 2 · 1024 · 4·4
		{"aten::conv_transpose2d", "1x16x8x8 16x4x2x2", 32_768},
		{"ConvTranspose", "1x16x8x8 15x4x2x2", unknown},

		// 2 · 2·8 heads · 128·128 · (64+64)
		{"aten::scaled_dot_product_attention", "2x8x128x64 2x8x128x64 2x8x128x64 ?", 67_108_864},
		{"scaled_dot_product_attention", "2x8x1x64 2x2x128x64 2x2x128x32 -> 2x8x1x32", 393_216}, // 2 · 16 · 128 · 96
		{"scaled_dot_product_attention", "2x8x1x64 2x3x128x64 2x3x128x32", unknown},
		{"attention", "2x128x512 2x128x512 2x128x512 -> 2x128x512", 67_108_864},
		{"attention", "2x8x128x64 2x8x128x64 2x8x128x64", unknown}, // or 128 heads
		{"Attention", "2x8x128x64 2x8x128x64 2x8x128x64", 67_108_864},
		{"Attention", "2x16x32 32x96 96 -> 2x16x32", 262_144}, // 2·2·16·32·96 + 4·2·16·16·32
		{"Attention", "2x16x32 32x96 96 ? 2x2x4x7x8 -> 2x16x32", unknown},
		{"MultiHeadAttention", "2x128x512 2x128x512 2x128x512 -> 2x128x512", 67_108_864},

		// ggml: weights first, and no dimensions of 1 in front
		{"MUL_MAT", "256x784 64x784 -> 64x256", 25_690_112},
		{"MUL_MAT", "256x784 784 -> 256", 401_408},         // one token
		{"MUL_MAT", "784 64x784 -> 64x1", 100_352},         // one output
		{"MUL_MAT", "2x128x64 8x5x64 -> 8x5x128", 655_360}, // four heads of queries share one of keys
		{"MUL_MAT", "2x128x64 8x1x64 -> 8x1x128", 131_072}, // 2·8·128·64
		{"MUL_MAT", "64x784 784x256 -> 64x256", unknown},   // the order of others
		{"MUL_MAT", "256x784 64x784 -> 2x64x256", unknown},
		{"MUL_MAT", "256x0 64x0 -> 64x256", unknown},
		{"MUL_MAT", "256x784 64x784", unknown},
		{"MUL_MAT", "? 64x784 -> 64x256", unknown},
		{"MUL_MAT_ID", "8x96x64 5x1x64 5x2 -> 5x2x96", 122_880}, // 2 · 5·2·96 · 64
		{"MUL_MAT_ID", "8x96x64 2x64 2 -> 2x96", 24_576},
		{"MUL_MAT_ID", "8x96x64 5x1x64 5x2 -> 5x3x96", unknown},
		{"MUL_MAT_ID", "96x64 5x1x64 5x2 -> 5x2x96", unknown},
		{"FLASH_ATTN_EXT", "8x5x64 2x256x64 2x256x32 5x256 -> 5x8x32", 1_966_080}, // 2 · 8·5 · 256 · (64+32)
		{"FLASH_ATTN_EXT", "8x1x64 8x256x64 8x256x64 256 -> 8x64", 524_288},
		{"FLASH_ATTN_EXT", "8x5x64 2x256x64 2x128x32 5x256 -> 5x8x32", unknown},
		{"FLASH_ATTN_EXT", "8x5x64 2x256x64 2x256x32 5x256 -> 5x8x64", unknown},
		{"SOFT_MAX", "8x5x256 -> 8x5x256", 51_200},
		{"SOFT_MAX", "8x5x256 5x256 -> 8x5x256", 71_680},
		{"ROPE", "5x8x64 5 -> 5x8x64", 7680},
		{"RMS_NORM", "5x64 -> 5x64", 960},
		{"SWIGLU", "5x96 5x96 -> 5x96", 960},
		{"SWIGLU", "5x192 -> 5x96", unknown},
		{"ADD", "5x64 64 -> 5x64", 320},
		{"GET_ROWS", "80x64 5 -> 5x64", 0},
		{"VIEW", "5x64 -> 320", 0},
		{"SET_ROWS", "5x64 5 256x64 -> 5x64", unknown},

		{"mystery", "5x7 5x7 -> 5x7", unknown},
		{"aten::to", "5x7 5x7", unknown},
		{"", "5x7 5x7 -> 5x7", unknown},
	} {
		t.Run(test.name+" "+test.shapes, func(t *testing.T) {
			check.Equal(t, "FLOPs", known(test.want), flops.Of(entry(t, test.name, test.shapes)).FLOPs)
		})
	}
}

func TestBytes(t *testing.T) {
	for _, test := range []struct {
		name, shapes string
		inputs       []op.DType
		want         int64
		dtype        op.DType
	}{
		{"matmul", "64x784 784x256 -> 64x256 f32", nil, 1_069_056, "f32"}, // 4 · (50176 + 200704 + 16384)
		{"matmul", "64x784 784x256 -> 64x256 f32", []op.DType{"bf16", "bf16"}, 567_296, "bf16"},
		{"matmul", "64x784 784x256 -> 64x256", []op.DType{"f32", "f32"}, 1_069_056, "f32"},
		{"aten::mm", "64x784 784x256", []op.DType{"f32", "f32"}, 1_069_056, "f32"},
		{"aten::addmm", "4 2x3 3x4 [] []", []op.DType{"f16", "f16", "f16", "", ""}, 60, "f16"}, // 2 · (4 + 6 + 12 + 8)
		{"aten::addmm", "4 2x3 3x4 [] []", []op.DType{"f32", "f16", "f16", "", ""}, unknown, "f16"},
		{"ampere_h16816gemm", "4 2x3 3x4 [] []", []op.DType{"f32", "f16", "f16", "", ""}, unknown, "f16"},
		{"aten::add", "5x7 5x7 []", []op.DType{"f32", "f32", ""}, 420, "f32"},
		{"aten::add", "5x7 5x7", []op.DType{"f32", "f64"}, unknown, "f32"}, // the output's is not known
		{"add", "5x7 5x7 -> 5x7", nil, unknown, ""},
		{"add", "5x7 5x7 -> 5x7 q4", nil, unknown, "q4"},
		{"add", "5x7 5x7 -> 5x7 f32", []op.DType{"f32"}, unknown, "f32"},
		{"MatMul", "1x20x120 -> 1x20x360 f32", []op.DType{"f32"}, unknown, "f32"},
		{"Reshape", "5x7 1 -> 35 f32", []op.DType{"f32", "i64"}, unknown, "f32"},
		{"add", "5x7 5x7 ? -> 5x7 f32", []op.DType{"f32", "f32", "f32"}, unknown, "f32"},
		{"add", "5x7 -> 5x7 f32", nil, unknown, "f32"}, // what was added is not recorded
		{"relu", "-> 5x7 f32", nil, unknown, "f32"},
		{"sum", "5x7", []op.DType{"f32"}, unknown, "f32"}, // over which dimensions?
		{"copy", "5x7", []op.DType{"f32"}, unknown, "f32"},
		{"aten::linear", "4x8 2x8 ?", []op.DType{"f32", "f32", ""}, 224, "f32"},           // 4 · (32 + 16 + 8)
		{"embedding", "1000x64 2x8 -> 2x8x64 f32", []op.DType{"f32", "i64"}, 8320, "f32"}, // 2 · 4096 + 128
		{"aten::view", "5x7 ?", []op.DType{"f32", ""}, 0, "f32"},
		{"Cast", "5x7 -> 5x7 f16", []op.DType{"f32"}, 210, "f32"},
		{"MUL_MAT", "64x256 5x256 -> 5x64 f32", []op.DType{"q4_K", "f32"}, 15_616, "q4_K"}, // 64·144 + 4 · 5·(256 + 64)
		{"MUL_MAT", "64x32 5x32 -> 5x64 f32", []op.DType{"q4_X", "f32"}, unknown, "q4_X"},
		{"MUL_MAT_ID", "8x96x64 2x64 2 -> 2x96 f32", []op.DType{"f16", "f32", "i32"}, 25_864, "f16"},
		// 2·2·96·64 + 4·(128 + 2 + 192)
		{"MUL_MAT_ID", "8x96x64 2x64 2 -> 2x96 f32", nil, 50_440, "f32"},             // 4 · (2·96·64 + 128 + 2 + 192)
		{"MUL_MAT_ID", "8x96x64 5x1x64 5x2 -> 5x2x96 f32", nil, unknown, "f32"},      // which experts?
		{"GET_ROWS", "80x64 5 -> 5x64 f32", []op.DType{"q8_0", "i32"}, 1640, "q8_0"}, // 340 + 1280 + 20
		{"FLASH_ATTN_EXT", "8x5x64 2x256x64 2x256x64 5x256 -> 5x8x64 f32", []op.DType{"f32", "f16", "f16", "f16"},
			154_112, "f32"},
		{"VIEW", "5x64 -> 320 f32", []op.DType{"f32"}, 0, "f32"},
		{"aten::conv_transpose2d", "1x16x8x8 16x4x2x2", []op.DType{"f32", "f32"}, unknown, "f32"},
		{"relu", "3037000499x3037000499 -> 3037000499x3037000499 f32", nil, unknown, "f32"},
	} {
		t.Run(test.name+" "+test.shapes, func(t *testing.T) {
			e := entry(t, test.name, test.shapes)
			e.InputDTypes = test.inputs
			got := flops.Of(e)
			check.Equal(t, "work", flops.Work{FLOPs: got.FLOPs, Bytes: known(test.want), DType: test.dtype}, got)
		})
	}
}

func TestAttentionNames(t *testing.T) {
	for name, want := range map[string]bool{
		"FLASH_ATTN_EXT": true, "aten::scaled_dot_product_attention": true, "MultiHeadAttention": true,
		"fmha_cutlassF_f16_aligned_64x64_rf_sm80": true,
		"void pytorch_flash::flash_fwd_kernel<…>": true, "MUL_MAT": false, "SOFT_MAX": false, "matmul": false,
		"": false,
	} {
		if flops.IsAttention(name) != want {
			t.Errorf("%q: not %t", name, want)
		}
	}
}

func TestKernelHasTheWorkOfItsOperator(t *testing.T) {
	for _, test := range []struct {
		kernel, operator, shapes string
		want                     int64
	}{
		{"nvjet_tst_128x8", "aten::mm", "64x784 784x256 64x256", 25_690_112}, // mm(out=)
		{"nvjet_tst_128x8", "", "64x784 784x256", 25_690_112},
		{"ampere_sgemm", "aten::bmm", "8x64x32 8x32x16 8x64x16", 524_288},
		{"ampere_sgemm", "aten::addmm", "256 64x784 784x256 [] [] 64x256", 25_690_112},
		{"sm90_xmma_gemm_warpgroupsize1x1x1", "aten::linear", "8x16 16x16 16", 4096}, // square, with a bias
		{"sm90_xmma_gemm_f8", "aten::_scaled_mm", "64x784 784x256 [] []", 25_690_112},
		{"sm80_xmma_fprop_implicit_gemm", "aten::conv2d", "1x32x28x28 64x8x3x3 -> 1x64x26x26", 6_230_016},
		{"sm80_xmma_dgrad_implicit_gemm", "aten::convolution_backward", "1x64x26x26 1x32x28x28 64x8x3x3", 6_230_016},
		{"flash_fwd_kernel", "aten::_scaled_dot_product_flash_attention", "2x8x128x64 2x8x128x64 2x8x128x64",
			67_108_864},
		{"flash_bwd_kernel", "aten::_scaled_dot_product_flash_attention_backward",
			"2x8x128x64 2x8x128x64 2x8x128x64 2x8x128x64", 167_772_160},
		{"attn_fwd", "aten::_flash_attention_forward", "2x128x8x64 2x128x8x64 2x128x8x64", 67_108_864},
		{"flash_fwd_kernel", "aten::_flash_attention_forward", "256x8x64 256x8x64 256x8x64", unknown}, // packed
		{"flash_bwd_kernel", "aten::_flash_attention_backward", "2x128x8x64 2x128x8x64 2x128x8x64 2x128x8x64", 167_772_160},
		{"sm80_xmma_fprop_implicit_gemm", "", "1x32x28x28 64x8x3x3", unknown},
		{"ampere_sgemm", "CompiledFunction", "64x784 784x256", unknown},
		{"splitKreduce_kernel", "aten::mm", "64x784 784x256", unknown},
	} {
		e := entry(t, test.kernel, test.shapes)
		e.LaunchedBy = test.operator
		check.Equal(t, test.kernel+" of "+test.operator, known(test.want), flops.Of(e).FLOPs)
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

func TestElementwiseNames(t *testing.T) {
	for name, is := range map[string]bool{
		"gelu": true, "aten::add_": true, "MUL": true, "mm": false, "layer_norm": false, "cumsum": false,
		"softmax": false, "": false,
	} {
		check.Equal(t, name, is, flops.IsElementwise(name))
	}
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
