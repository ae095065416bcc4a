// Package flops tells from the name, the shapes and the element types of an
// operation how much it computes and how much memory it moves at least.
//
// The names are those of the recording API's examples, of ONNX's operators and of
// PyTorch's (aten::…). One table maps them to a few formulas, which docs/analyses.md
// lists with their sources. What cannot be told is unknown and never guessed: a name
// that is not in the table, shapes that do not fit the operation, a dimension or an
// element type that is not known, a result that does not fit 64 bits. Attributes are
// not needed: the shape of the output tells transposed operands and the strides,
// padding and dilation of a convolution, and that of its weights tells the groups.
//
// The package is pure, allocates nothing and imports the model (package op) alone.
// Package analyze uses it where an entry records no FLOPs; package analyze/peaks has what
// devices can do at best.
package flops
