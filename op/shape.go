package op

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// MaxRank and MaxInputs bound the shapes of one entry.
const (
	MaxRank   = 64
	MaxInputs = 1024
)

// Dynamic is the size of a dimension known only at run time.
const Dynamic = -1

// Shape is the dimensions of a tensor. nil means unknown, an empty non-nil Shape a scalar.
type Shape []int64

// Elements returns the product of the dimensions: 1 for a scalar, 0 if a dimension is 0, and unknown for a nil shape, a
// dynamic dimension or an overflow. The warning gives the reason.
//
//	nil          unknown
//	[]           1
//	[2 3]        6
//	[2 -1]       unknown, WarnDynamicDim
//	[0 2^62 8]   0
//	[2^62 8]     unknown, WarnOverflow
func (s Shape) Elements() (Int, Warning) {
	if s == nil {
		return Int{}, 0
	}
	product := uint64(1)
	bad := false
	dynamic := false
	zero := false
	overflow := false
	for _, d := range s {
		if d <= 0 {
			bad = bad || d < Dynamic
			dynamic = dynamic || d == Dynamic
			zero = zero || d == 0
			continue
		}
		hi, lo := bits.Mul64(product, uint64(d))
		if hi != 0 || lo > math.MaxInt64 {
			overflow = true
			lo = 1
		}
		product = lo
	}
	// Not in the loop: the result must not depend on the order of dimensions.
	switch {
	case bad:
		return Int{}, WarnBadShape
	case dynamic:
		return Int{}, WarnDynamicDim
	case zero:
		return Known(0), 0
	case overflow:
		return Int{}, WarnOverflow
	}
	return Known(int64(product)), 0
}

// String returns the dimensions joined by x, such as "64x784"; "scalar" for no
// dimensions, "?" for an unknown shape and for a dynamic dimension.
func (s Shape) String() string { return string(s.AppendText(nil)) }

// AppendText appends the text of String.
func (s Shape) AppendText(dst []byte) []byte {
	if s == nil {
		return append(dst, '?')
	}
	if len(s) == 0 {
		return append(dst, "scalar"...)
	}
	for i, d := range s {
		if i > 0 {
			dst = append(dst, 'x')
		}
		if d == Dynamic {
			dst = append(dst, '?')
		} else {
			dst = strconv.AppendInt(dst, d, 10)
		}
	}
	return dst
}

// AppendJSON appends the list of dimensions, null for an unknown shape.
func (s Shape) AppendJSON(dst []byte) []byte {
	if s == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i, d := range s {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, d, 10)
	}
	return append(dst, ']')
}

// DType is the element type of a tensor in its short spelling. An unrecognised spelling stays as given; its Size is 0.
type DType string

// The recognised element types.
const (
	F64    DType = "f64"
	F32    DType = "f32"
	BF16   DType = "bf16"
	F16    DType = "f16"
	F8E4M3 DType = "f8e4m3"
	F8E5M2 DType = "f8e5m2"
	I64    DType = "i64"
	I32    DType = "i32"
	I16    DType = "i16"
	I8     DType = "i8"
	U64    DType = "u64"
	U32    DType = "u32"
	U16    DType = "u16"
	U8     DType = "u8"
	Bool   DType = "bool"
	C64    DType = "c64"
	C128   DType = "c128"
)

// DefaultElementSize is assumed for a tensor of unknown element type: the size of a float64.
const DefaultElementSize = 8

// Size returns the bytes of one element, 0 for an unrecognised type.
func (d DType) Size() int64 {
	switch d {
	case C128:
		return 16
	case F64, I64, U64, C64:
		return 8
	case F32, I32, U32:
		return 4
	case F16, BF16, I16, U16:
		return 2
	case I8, U8, F8E4M3, F8E5M2, Bool:
		return 1
	}
	return 0
}

// Block returns the number of elements in a block and the bytes of a block: 1 and Size, or the block of one of ggml's
// quantised types, such as "q4_K". bytes is 0 for an unrecognised type.
func (d DType) Block() (elements, bytes int64) {
	if size := d.Size(); size > 0 {
		return 1, size
	}
	b := quantised[d]
	return max(1, b[0]), b[1]
}

var quantised = map[DType][2]int64{
	"q4_0": {32, 18}, "q4_1": {32, 20}, "q5_0": {32, 22}, "q5_1": {32, 24}, "q8_0": {32, 34}, "q8_1": {32, 36},
	"q1_0": {128, 18}, "q2_0": {64, 18}, "q2_K": {256, 84}, "q3_K": {256, 110}, "q4_K": {256, 144}, "q5_K": {256, 176},
	"q6_K": {256, 210}, "q8_K": {256, 292}, "mxfp4": {32, 17}, "iq1_s": {256, 50}, "iq1_m": {256, 56},
	"iq2_xxs": {256, 66}, "iq2_xs": {256, 74}, "iq2_s": {256, 82}, "iq3_xxs": {256, 98}, "nvfp4": {64, 36},
	"iq3_s": {256, 110}, "iq4_nl": {32, 18}, "iq4_xs": {256, 136}, "tq1_0": {256, 54}, "tq2_0": {256, 66},
}

// dtypeAliases maps the lower-case spellings of PyTorch, NumPy, C++ and XLA to the short ones.
var dtypeAliases = map[string]DType{
	"f64": F64, "float64": F64, "double": F64, "fp64": F64, "<f8": F64,
	"f32": F32, "float32": F32, "float": F32, "fp32": F32, "single": F32, "tf32": F32, "<f4": F32,
	"bf16": BF16, "bfloat16": BF16, "c10::bfloat16": BF16,
	"f16": F16, "float16": F16, "half": F16, "fp16": F16, "c10::half": F16, "<f2": F16,
	"f8e4m3": F8E4M3, "float8_e4m3fn": F8E4M3, "float8_e4m3": F8E4M3, "f8e4m3fn": F8E4M3,
	"float8_e4m3fnuz": F8E4M3, "f8e4m3fnuz": F8E4M3, "c10::float8_e4m3fn": F8E4M3, "c10::float8_e4m3fnuz": F8E4M3,
	"f8e5m2": F8E5M2, "float8_e5m2": F8E5M2, "float8_e5m2fnuz": F8E5M2, "f8e5m2fnuz": F8E5M2,
	"c10::float8_e5m2": F8E5M2, "c10::float8_e5m2fnuz": F8E5M2,
	"i64": I64, "int64": I64, "long": I64, "long int": I64, "s64": I64, "<i8": I64,
	"i32": I32, "int32": I32, "int": I32, "s32": I32, "<i4": I32,
	"i16": I16, "int16": I16, "short": I16, "short int": I16, "s16": I16, "<i2": I16,
	"i8": I8, "int8": I8, "char": I8, "signed char": I8, "s8": I8,
	"u64": U64, "uint64": U64, "unsigned long": U64,
	"u32": U32, "uint32": U32, "unsigned int": U32,
	"u16": U16, "uint16": U16, "unsigned short": U16,
	"u8": U8, "uint8": U8, "byte": U8, "unsigned char": U8,
	"bool": Bool, "pred": Bool, "boolean": Bool,
	"c64": C64, "complex64": C64, "cfloat": C64, "c10::complex<float>": C64, "<c8": C64,
	"c128": C128, "complex128": C128, "cdouble": C128, "c10::complex<double>": C128, "<c16": C128,
}

// ParseDType returns the short spelling of a type such as "torch.float32", "numpy.int8", "c10::BFloat16" or "f32". It
// returns any other text unchanged, with ok false.
func ParseDType(s string) (d DType, ok bool) {
	if _, size := DType(s).Block(); size > 0 {
		return DType(s), true
	}
	key := strings.ToLower(strings.TrimSpace(s))
	for _, prefix := range [...]string{"torch.", "numpy.", "np.", "tensor(", "dt_"} {
		key = strings.TrimPrefix(key, prefix)
	}
	key = strings.TrimSuffix(key, ")")
	if d, ok := dtypeAliases[key]; ok {
		return d, true
	}
	return DType(s), false
}

// String returns the type's spelling.
func (d DType) String() string { return string(d) }

// SetName sets the value to the one called word, and returns the warning about an unknown word.
func (d *DType) SetName(word string) Warning {
	var ok bool
	*d, ok = ParseDType(word)
	return warnUnless(ok || word == "", WarnUnknownDType)
}
