// Package flops estimates the computation and the minimal memory traffic of an operation from its name, shapes and
// element types.
//
// It knows the names in the recording API's examples, of ONNX's operators and of PyTorch's (aten::…). One table maps
// them to a few formulas; docs/analyses.md lists their sources. The result is unknown, never guessed, for unknown
// names, shapes that do not fit, unknown dimensions or element types, and results beyond 64 bits. Attributes are not
// needed: the output shape implies transposition, strides, padding and dilation, and the shape of weights implies
// groups.
//
// The package allocates nothing per operation and depends on package op only. Package analyze uses it for
// entries without recorded FLOPs; package analyze/peaks has the peak rates of devices.
package flops
