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

// isCPlusPlus reports whether parameters or template arguments follow an identifier in the name.
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
