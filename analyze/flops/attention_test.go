package flops

import "testing"

func TestIsAttention(t *testing.T) {
	for name, want := range map[string]bool{
		"FLASH_ATTN_EXT": true, "aten::scaled_dot_product_attention": true, "MultiHeadAttention": true,
		"fmha_cutlassF_f16_aligned_64x64_rf_sm80": true,
		"void pytorch_flash::flash_fwd_kernel<…>": true, "MUL_MAT": false, "SOFT_MAX": false, "matmul": false, "": false,
	} {
		if IsAttention(name) != want {
			t.Errorf("%q: not %t", name, want)
		}
	}
}
