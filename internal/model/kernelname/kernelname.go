// Package kernelname shortens the kernel names of compilers and libraries to their distinguishing parts.
//
// It knows demangled and mangled C++, and the names of Triton, CUTLASS, cuDNN, NCCL, Tensile and XLA. Any other name
// stays unchanged. It does not cut names to a width; callers do.
package kernelname

import (
	"slices"
	"strings"
)

// Short returns a name without its indistinct parts: types of results and parameters, namespaces, lambdas, and template
// arguments such as numbers and element types beside more informative ones.
//
//	void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, …>(int, …)
//	vectorized_elementwise_kernel<CUDAFunctor_add>
func Short(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".kd"), " [clone ")
	switch {
	case strings.HasPrefix(name, "_Z"):
		return mangled(name)
	case strings.Contains(name, ")#_"): // PyTorch: enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__
		return name
	case strings.HasPrefix(name, "%"):
		first, _, _ := strings.Cut(name[1:], " = ")
		return first
	case strings.Contains(name, ")/"): // a path of JAX: jit(step)/jit(main)/dense/dot_general
		parts := strings.Split(name, "/")
		return strings.Join(parts[len(parts)-2:], "/")
	case isCPlusPlus(name):
		return library(parse(name).outermost())
	}
	return library(name)
}

// Long returns a name with all template arguments, for names of equal short form.
func Long(name string) string {
	if isCPlusPlus(name) {
		return parse(name).String()
	}
	return name
}

func isCPlusPlus(name string) bool {
	i := strings.IndexAny(name, "<(")
	if i > 0 && strings.HasPrefix(name, "void ") {
		return true
	}
	return i > 0 && isIdentifier(rune(name[i-1])) && !strings.ContainsAny(name[:i], "/ ")
}

func isIdentifier(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}

func library(name string) string {
	for _, prefix := range []string{"cudnn_infer_", "cudnn_train_", "__amd_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	words := strings.Split(name, "_")
	switch {
	case strings.Contains(name, "_xmma_"):
		return xmma(words)
	case strings.HasPrefix(name, "Cijk_"): // Tensile: the order of the indices, the type, the tile, the instruction
		rest := min(4, len(words))
		return strings.Join(append(words[:rest], slices.DeleteFunc(words[rest:], func(w string) bool {
			return !strings.HasPrefix(w, "MT") && !strings.HasPrefix(w, "MI1") && !strings.HasPrefix(w, "MI3")
		})...), "_")
	case len(words) > 1 && isSpecialisation(words[len(words)-1]):
		return strings.Join(words[:len(words)-1], "_")
	}
	return name
}

// xmma removes the repetitions of an XMMA kernel's name and its division among warps.
func xmma(words []string) string {
	var kept []string
	for _, w := range words {
		switch {
		case w == "execute" || w == "kernel" || w == "cublas" || w == "" || w == "cudnn" || w == "infer" ||
			w == "train",
			strings.HasPrefix(w, "stage"), strings.HasPrefix(w, "warp"), strings.HasPrefix(w, "tensor16"),
			strings.HasPrefix(w, "align"),
			w == "g1", strings.HasPrefix(w, "5x"):
			continue
		}
		w = strings.TrimPrefix(w, "tilesize")
		if n := len(kept); n > 0 && strings.HasSuffix(kept[n-1], w) && strings.Contains(w, "f") {
			continue // mostly the operands have one type
		}
		kept = append(kept, w)
	}
	return strings.Join(kept, "_")
}

// isSpecialisation reports whether a word is Triton's suffix for a specialised kernel, such as 0d1d2d3c.
func isSpecialisation(word string) bool {
	return len(word) > 3 && strings.Trim(word, "0123456789cde") == "" && strings.HasPrefix(word, "0") &&
		strings.Contains(word, "1")
}

// node is a C++ name without namespaces, with its template arguments.
type node struct {
	name string
	args []node
}

// Uninformative names: wrappers, whose arguments are the kernel, and types that only carry data.
var (
	wrappers = []string{
		"gpu_kernel_impl", "gpu_kernel_impl_nocast", "func_wrapper_t", "ReduceOp", "BinaryFunctor", "AUnaryFunctor",
		"BUnaryFunctor", "Kernel", "Kernel2", "kernel", "device_kernel", "EinsumKernel",
	}
	carriers = []string{
		"Array", "array", "tuple", "TrivialOffsetCalculator", "OffsetCalculator", "LoadWithCast", "StoreWithCast",
		"LoadWithoutCast", "StoreWithoutCast", "TensorListMetadata", "TensorInfo", "OpaqueType", "integral_constant",
		"identity", "Params", "cublasGemvParams",
	}
	types = []string{
		"void", "bool", "char", "short", "int", "long", "unsigned", "float", "double", "half", "__half", "__half2",
		"float2", "float4", "signed", "__nv_bfloat16", "bfloat16_t", "half_t", "BFloat16", "Half", "int8_t",
		"uint8_t", "int32_t", "int64_t", "size_t", "hip_bfloat16", "complex", "tfloat32_t", "int2", "ulong",
	}
)

const maxDepth = 16

var plain = strings.NewReplacer("(anonymous namespace)::", "", "<unnamed>::", "", "operator ()", "operator()")

// parse returns the node of a name or a type: "void a::f<4, b::G<float> >(int)::{lambda()#1}" is f of 4 and G of float.
func parse(s string) node {
	return parseIn(plain.Replace(s), 0)
}

func parseIn(s string, depth int) (n node) {
	for start := 0; start <= len(s); {
		end := len(s)
		if i := strings.IndexAny(s[start:], "<({[: *&"); i >= 0 {
			end = start + i
		}
		next := end + 1
		arg := ""
		if end < len(s) && strings.IndexByte("<({[", s[end]) >= 0 {
			last := closing(s, end)
			arg = s[end+1 : last]
			next = min(last+1, len(s))
		}
		switch name := component(s[start:end]); {
		case name == "":
		case end < len(s) && s[end] == '<':
			if name == "kernel" && n.name != "" && strings.HasSuffix(s[:start], "::") {
				name = n.name + "::" + name
			}
			n = node{name: name, args: arguments(arg, depth+1)}
		default:
			n = node{name: name}
		}
		start = next
	}
	return n
}

// component returns a part of a name, or "" for a keyword.
func component(s string) string {
	switch s {
	case "const", "operator", "type", "result_type", "operator()", "struct", "class", "volatile":
		return ""
	}
	return s
}

func closing(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '<', '(', '{', '[':
			depth++
		case '>', ')', '}', ']':
			if s[i] == '>' && i > 0 && s[i-1] == '-' {
				continue
			}
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

func arguments(s string, depth int) (args []node) {
	if depth > maxDepth {
		return nil
	}
	start := 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || s[i] == ',':
			if arg := strings.TrimSpace(s[start:i]); arg != "" {
				args = append(args, parseIn(arg, depth))
			}
			start = i + 1
		case strings.IndexByte("<({[", s[i]) >= 0:
			i = min(closing(s, i), len(s)-1)
		}
	}
	return args
}

// telling returns the informative arguments. Arguments of wrappers take the wrappers' place.
func (n node) telling() (args []node) {
	for _, a := range n.args {
		inner := a.telling()
		switch {
		case slices.Contains(wrappers, a.name) && len(inner) > 0:
			args = append(args, inner...)
		case a.isLiteral() || slices.Contains(carriers, a.name) || slices.Contains(types, a.name):
		default:
			args = append(args, a)
		}
	}
	return args
}

func (n node) isLiteral() bool {
	return n.name == "" || n.name == "true" || n.name == "false" || n.name[0] >= '0' && n.name[0] <= '9' ||
		n.name[0] == '-'
}

// String writes a name with all its arguments.
func (n node) String() string {
	var args []string
	for _, a := range n.args {
		args = append(args, a.String())
	}
	return template(n.name, args)
}

func template(name string, args []string) string {
	if len(args) == 0 {
		return name
	}
	return name + "<" + strings.Join(args, ", ") + ">"
}

// outermost writes a kernel. The first argument of a wrapper takes its place.
func (n node) outermost() string {
	args := n.telling()
	if slices.Contains(wrappers, n.name) && len(args) > 0 {
		n = args[0]
		args = n.telling()
	}
	var texts []string
	for _, a := range args {
		if text := a.name + numbers(a.args); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		for _, a := range n.args {
			if a.name != "" && !slices.Contains(carriers, a.name) {
				texts = append(texts, a.name)
			}
		}
	}
	return template(n.name, texts)
}

func numbers(args []node) string {
	var texts []string
	for _, a := range args {
		if !a.isLiteral() {
			break
		}
		texts = append(texts, a.name)
	}
	return template("", texts)
}

// mangled returns the first identifiers of a mangled name, the most informative, as a kernel and its arguments.
func mangled(s string) string {
	const most = 3
	var names []string
	for i := 0; i < len(s) && len(names) < most; {
		length := 0
		for ; i < len(s) && s[i] >= '0' && s[i] <= '9' && length < len(s); i++ {
			length = 10*length + int(s[i]-'0')
		}
		if length == 0 || length > len(s)-i || s[i] >= '0' && s[i] <= '9' {
			i++
			continue
		}
		name := s[i : i+length]
		i += length
		isTemplate := i < len(s) && (s[i] == 'I' || s[i] == 'E' || s[i] == 'v')
		if isTemplate && !slices.Contains(wrappers, name) && !slices.Contains(carriers, name) {
			if name == "GemmShape" {
				name = strings.Join(literals(s[i:]), "x")
			}
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return s
	}
	return template(names[0], names[1:])
}

// literals returns the leading integers of mangled template arguments: ILi128ELi64EE is 128 and 64.
func literals(s string) (values []string) {
	s = strings.TrimPrefix(s, "I")
	for strings.HasPrefix(s, "Li") {
		value, rest, ok := strings.Cut(s[2:], "E")
		if !ok {
			break
		}
		values = append(values, value)
		s = rest
	}
	return values
}
