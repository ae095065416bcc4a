package kernelname_test

import (
	"testing"

	"github.com/optrace/optrace/internal/model/kernelname"
)

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
