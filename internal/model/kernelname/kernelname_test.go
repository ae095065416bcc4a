package kernelname_test

import (
	"os"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/model/kernelname"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
)

// testdata/names.txt has names from traces of PyTorch, Nsight Systems, vLLM, ROCm and TPUs, each below its short form.
func TestShort(t *testing.T) {
	const path = "testdata/names.txt"
	var got strings.Builder
	names := 0
	table := check.Must(os.ReadFile(path))(t)
	for line := range strings.Lines(string(table)) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "\t"); ok {
			names++
			short := kernelname.Short(name)
			got.WriteString(short + "\n\t" + name + "\n")
			if short == "" || len(short) > len(name) {
				t.Errorf("%q is %q in short", name, short)
			}
		}
	}
	if names < 60 {
		t.Errorf("%d names", names)
	}
	golden.Check(t, path, got.String())
}

// Names of equal short form differ in Long.
func TestLong(t *testing.T) {
	for _, test := range []struct{ name, short, long string }{
		{
			"void a::scale<4, a::Mul<float>, std::array<char*, 2ul> >(int, a::Mul<float>)",
			"scale<Mul>", "scale<4, Mul<float>, array<char, 2ul>>",
		},
		{
			"void a::scale<4, a::Mul<long>, std::array<char*, 2ul> >(int, a::Mul<long>)",
			"scale<Mul>", "scale<4, Mul<long>, array<char, 2ul>>",
		},
		{"matmul (big)", "matmul (big)", "matmul (big)"},
	} {
		check.Equal(t, test.name, test.short, kernelname.Short(test.name))
		check.Equal(t, test.name, test.long, kernelname.Long(test.name))
	}
}

// Truncated names and other texts do no harm.
func FuzzShort(f *testing.F) {
	for _, name := range []string{"void a<b(", "_ZN3abcI", "a<<<>", "x)/", "%", "Cijk_", "a(){lambda", "(int)4",
		"f<->>", "operator()",
		"_Z9999999999999999999a", "a<,>", "\xff<a>"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if short := kernelname.Short(name); name != "" && len(short) > len(name)+2 {
			t.Errorf("%q is longer: %q", name, short)
		}
		kernelname.Long(name)
	})
}

func TestTaskOf(t *testing.T) {
	for name, want := range map[string]kernelname.Task{
		"ampere_sgemm_128x64_nn":                                                         kernelname.Product,
		"nvjet_tst_144x128_64x6_2x1_v_bz_TNN":                                            kernelname.Product,
		"Cijk_Ailk_Bljk_BBS_BH_MT128x128x64_MI16x16x1":                                   kernelname.Product,
		"void cutlass::Kernel2<cutlass_80_tensorop_s16>":                                 kernelname.Aside,
		"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1": kernelname.Product,
		"void cutlass::device_kernel<GroupProblemShape_grouped_gemm>":                    kernelname.Aside,
		"void splitKreduce_kernel<32, 16, int, float>(cublasSplitKParams<float>)":        kernelname.Aside,
		"sm80_xmma_fprop_implicit_gemm_f32f32":                                           kernelname.Convolution,
		"void cudnn::cnn::wgrad2d_grouped_direct_kernel<float>":                          kernelname.Convolution,
		"igemm_fwd_gtcx3_nhwc_fp16":                                                      kernelname.Convolution,
		"void pytorch_flash::flash_fwd_kernel<…>":                                        kernelname.Attention,
		"void pytorch_flash::flash_bwd_dot_do_o_kernel<…>":                               kernelname.Aside,
		"attn_fwd":            kernelname.Attention, // Triton
		"attn_bwd_preprocess": kernelname.Aside,
		"void at::native::vectorized_elementwise_kernel<4>": kernelname.Aside,
		"": kernelname.Aside,
	} {
		if got := kernelname.TaskOf(name); got != want {
			t.Errorf("%q: %d, want %d", name, got, want)
		}
	}
}
