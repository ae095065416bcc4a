package kernelname

import (
	"slices"
	"strings"
)

// Task is the part of an operator's work that a kernel does.
type Task uint8

const (
	// Aside is any other work, such as sums of partial results and changes of layout.
	Aside Task = iota
	// Product is a product of matrices.
	Product
	// Convolution is a convolution, or the gradient of its input or weights.
	Convolution
	// Attention is attention as a whole.
	Attention
	// Products is several products, each with shapes of its own.
	Products
)

// attention has parts of the names of operators and kernels for all of attention.
var attention = []string{"attention", "attn", "sdpa", "fmha", "flash_fwd", "flash_bwd"}

// IsAttention reports whether name is an operator or kernel for attention.
func IsAttention(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(attention, func(part string) bool { return strings.Contains(name, part) })
}

// TaskOf returns what a kernel does by its name: those of cuBLAS, CUTLASS, cuDNN, rocBLAS, hipBLASLt, MIOpen and of
// libraries for attention.
func TaskOf(name string) Task {
	lower := strings.ToLower(name)
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(lower, part) {
				return true
			}
		}
		return false
	}
	switch {
	case has(attention...):
		if has("convert", "preprocess", "combine", "dot_do_o") {
			return Aside
		}
		return Attention
	case has("splitkreduce", "reduce_kernel", "transform", "im2col"):
		return Aside
	case has("fprop", "dgrad", "wgrad", "implicit_gemm", "implicit_convolve", "igemm_", "convolve", "winograd", "conv2d", "conv_"):
		return Convolution
	case strings.HasPrefix(name, "Cijk_"), strings.HasPrefix(name, "nvjet"):
		return Product
	case has("grouped", "group_gemm", "groupgemm"):
		return Products
	case has("gemm"):
		return Product
	}
	return Aside
}
