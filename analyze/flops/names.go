package flops

import (
	"strings"

	"github.com/optrace/optrace/internal/model/kernelname"
)

// torchPrefix starts the names of PyTorch's operators. A name with the prefix and without its own entry in the table
// has the formula of the name without the prefix.
const torchPrefix = "aten::"

// formulas is the table of all names. Names of ONNX and ONNX Runtime are in camel case, names of ggml in capitals.
// Names of PyTorch are also common elsewhere.
var formulas = tableOf([]namesOf{
	{Formula{count: matmul, inputs: 2}, "matmul mm bmm mv dot _scaled_mm _int_mm"},
	{Formula{count: matmul}, "gemm batch_matmul batched_matmul dot_general" +
		" MatMul FusedMatMul TransposeMatMul MatMulInteger MatMulIntegerToFloat DynamicQuantizeMatMul"},
	{Formula{count: grouped, inputs: 2}, "_grouped_mm _scaled_grouped_mm"},
	{Formula{count: gemm}, "Gemm FusedGemm"},
	{Formula{count: addedProduct, inputs: 3}, "addmm baddbmm addmv _addmm_activation"},
	{Formula{count: quantized(matmul)}, "QLinearMatMul"},
	{Formula{count: linear}, "linear dense fully_connected"},
	{Formula{count: attention}, "scaled_dot_product_attention _scaled_dot_product_flash_attention" +
		" _scaled_dot_product_efficient_attention" +
		" _scaled_dot_product_cudnn_attention _scaled_dot_product_flash_attention_for_cpu" +
		" _scaled_dot_product_attention_math"},
	{Formula{count: lengthsFirst(attention)}, "aten::_flash_attention_forward aten::_efficient_attention_forward"},
	{Formula{count: multiHeadAttention}, "MultiHeadAttention"},
	{Formula{count: anyAttention}, "attention self_attention sdpa"},
	{Formula{count: onnxAttention}, "Attention"},

	{Formula{count: convolution}, "conv conv1d conv2d conv3d cudnn_convolution mkldnn_convolution" +
		" miopen_convolution" +
		" miopen_depthwise_convolution _conv_depthwise2d conv_depthwise3d thnn_conv2d _slow_conv2d_forward" +
		" slow_conv3d" +
		" Conv FusedConv ConvInteger"},
	{Formula{count: quantized(convolution)}, "QLinearConv"},
	{Formula{count: transposedConvolution}, "conv_transpose conv_transpose1d conv_transpose2d conv_transpose3d" +
		" cudnn_convolution_transpose ConvTranspose"},

	{Formula{each: true, count: elementwise(1, 1)}, "relu relu6 leaky_relu prelu elu selu celu gelu fast_gelu silu swish mish" +
		" sigmoid hardsigmoid hardswish hardtanh tanh softplus exp exp2 log log2 sqrt" +
		" rsqrt reciprocal neg abs sign floor ceil round sin cos erf" +
		" square clamp clip" +
		" Relu LeakyRelu Elu Selu Celu Gelu FastGelu QuickGelu Sigmoid HardSigmoid HardSwish Tanh Softplus" +
		" Softsign Swish Mish Exp Log Sqrt" +
		" Reciprocal Neg Abs Sign Floor Ceil Round Sin Cos Erf Clip"},
	{Formula{count: elementwise(1, 1)}, "cumsum CumSum"},
	{Formula{each: true, count: elementwise(2, 1)}, "add bias_add sub subtract mul multiply div divide pow maximum minimum" +
		" rsub atan2 remainder fmod" +
		" Add Sub Mul Div Pow PRelu Mod"},
	{Formula{each: true, count: elementwise(2, 2)}, "bias_gelu BiasGelu"},
	{Formula{each: true, count: elementwise(2, 3)}, "lerp"},
	{Formula{each: true, count: elementwise(3, 2)}, "addcmul addcdiv fma"},
	{Formula{count: variadic}, "Sum Max Min"},

	{Formula{count: reduction(1)}, "sum mean reduce_sum reduce_mean reduce_max reduce_min amax amin argmax" +
		" argmin prod" +
		" ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ArgMax ArgMin GlobalAveragePool GlobalMaxPool"},
	{Formula{count: reduction(2)}, "ReduceSumSquare ReduceL1 ReduceL2"},
	{Formula{count: normalization(5, 5, 0)}, "softmax _softmax log_softmax _log_softmax Softmax LogSoftmax"},
	{Formula{count: normalization(4, 5, 2)}, "layer_norm layernorm native_layer_norm group_norm" +
		" LayerNormalization GroupNormalization GroupNorm"},
	{Formula{count: normalization(4, 5, 1)}, "batch_norm batchnorm native_batch_norm cudnn_batch_norm" +
		" miopen_batch_norm instance_norm" +
		" native_group_norm BatchNormalization InstanceNormalization"},
	{Formula{count: normalization(3, 4, 2)}, "rms_norm rmsnorm _fused_rms_norm RMSNormalization" +
		" SimplifiedLayerNormalization"},

	{Formula{count: copied, moves: movesAll}, "copy clone contiguous cast to concat cat concatenate transpose pad tile" +
		" Cast Concat Transpose Pad Tile Expand ReorderInput ReorderOutput"},
	{Formula{count: copied, moves: movesPerhaps}, "reshape flatten squeeze unsqueeze Reshape Flatten Squeeze Unsqueeze" +
		" Identity Dropout"},
	{Formula{count: copied, moves: movesRows}, "slice gather index_select Slice Gather GatherElements GatherND"},
	{Formula{count: embedding, moves: movesRows}, "embedding embedding_lookup"},
	{Formula{count: copied, moves: movesNothing}, "aten::view aten::_unsafe_view aten::reshape aten::_reshape_alias aten::t" +
		" aten::transpose" +
		" aten::permute aten::expand aten::squeeze aten::unsqueeze aten::select aten::slice aten::narrow" +
		" aten::flatten aten::detach" +
		" aten::alias aten::as_strided aten::unbind aten::chunk aten::split"},
	{Formula{count: weighted}, "MUL_MAT"},
	{Formula{count: weightedByExpert}, "MUL_MAT_ID"},
	{Formula{count: flashAttention}, "FLASH_ATTN_EXT"},
	{Formula{count: normalization(5, 7, 1)}, "SOFT_MAX"},    // 2 for scale and mask
	{Formula{each: true, count: elementwise(1, 3)}, "ROPE"}, // 4 products and 2 sums for each two
	{Formula{count: normalization(3, 4, 2)}, "RMS_NORM L2_NORM"},
	{Formula{count: normalization(4, 5, 2)}, "NORM GROUP_NORM"},
	{Formula{each: true, count: elementwise(1, 1)}, "SILU GELU GELU_QUICK GELU_ERF RELU LEAKY_RELU ELU TANH SIGMOID" +
		" HARDSIGMOID HARDSWISH SOFTPLUS" +
		" EXP LOG SQR SQRT SIN COS ABS NEG SGN STEP CLAMP SCALE"},
	{Formula{each: true, count: elementwise(2, 1)}, "ADD SUB MUL DIV"},
	{Formula{each: true, count: elementwise(2, 2)}, "SWIGLU GEGLU REGLU GEGLU_QUICK GEGLU_ERF"},
	{Formula{count: reduction(1)}, "SUM SUM_ROWS MEAN ARGMAX"},
	{Formula{count: copied, moves: movesAll}, "CONT DUP CONCAT REPEAT PAD"},
	{Formula{count: copied, moves: movesRows}, "GET_ROWS"},
	{Formula{count: copied, moves: movesNothing}, "VIEW RESHAPE PERMUTE TRANSPOSE"},
	{Formula{}, "aten::to aten::contiguous aten::copy aten::gather"}, // may copy or not, or have other inputs
})

// kernels are the formulas of library kernels by task. One has the inputs of the operator that launched it, whose formula
// counts. A product without an operator has its own.
var kernels = [...]Formula{
	kernelname.Product:     {count: kernelProduct, kernel: true},
	kernelname.Convolution: {kernel: true},
	kernelname.Attention:   {kernel: true},
	kernelname.Products:    {kernel: true},
}

// gradients are the formulas of operators that compute the gradients of another one.
var gradients = tableOf([]namesOf{
	{Formula{count: convolutionGradients}, "aten::convolution_backward"},
	{Formula{count: attentionGradients, moves: movesPerhaps}, "aten::_scaled_dot_product_flash_attention_backward" +
		" aten::_scaled_dot_product_efficient_attention_backward aten::_scaled_dot_product_cudnn_attention_backward"},
	{Formula{count: lengthsFirst(attentionGradients), moves: movesPerhaps}, "aten::_flash_attention_backward" +
		" aten::_efficient_attention_backward"},
})

var none Formula // of unknown work

// ofKernel returns the formula for the share of a kernel in the work of an operator. Without an operator it is f. The
// work of an operator without a formula is unknown.
func (f *Formula) ofKernel(operator string) *Formula {
	if operator == "" {
		return f
	}
	if g, ok := gradients[operator]; ok {
		return g
	}
	if g := Find(operator); g != nil && !g.kernel {
		return g
	}
	return &none
}

type namesOf struct {
	formula Formula
	names   string
}

func tableOf(list []namesOf) map[string]*Formula {
	table := make(map[string]*Formula)
	for i := range list {
		f := &list[i].formula
		if f.count == nil {
			f = nil
		}
		for name := range strings.FieldsSeq(list[i].names) {
			table[name] = f
		}
	}
	return table
}

// Find returns the formula for an operation name, nil if unknown.
func Find(name string) *Formula {
	if f, ok := formulas[name]; ok {
		return f
	}
	if rest, ok := strings.CutPrefix(name, torchPrefix); ok {
		return findTorch(rest)
	}
	if task := kernelname.TaskOf(name); task != kernelname.Aside {
		return &kernels[task]
	}
	return nil
}

// IsElementwise reports whether name is an operator that computes element by element.
func IsElementwise(name string) bool {
	f := Find(name)
	return f != nil && f.each
}

// IsAttention reports whether name is an operator or kernel for all of attention. Its work grows with the square of
// the tokens.
func IsAttention(name string) bool { return kernelname.IsAttention(name) }

// findTorch returns the formula of a PyTorch operator. Its name may end in an underscore, for in-place operators, and
// in a variant, as in add_.Tensor.
func findTorch(name string) *Formula {
	name, _, _ = strings.Cut(name, ".")
	name = strings.TrimSuffix(name, "_")
	var room [64]byte
	if f, ok := formulas[string(append(append(room[:0], torchPrefix...), name...))]; ok {
		return f
	}
	if strings.ToLower(name) != name {
		return nil // an ONNX name
	}
	return formulas[name]
}
