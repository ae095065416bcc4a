package nsys

import (
	"fmt"
	"strings"

	"github.com/optrace/optrace/internal/jsontext"
)

// rangeName takes the name of a range apart where PyTorch's emit_nvtx made it, which adds numbers and
// shapes to the names of operators. Others are plain.
//
//	aten::mm, seq = 7, op_id = 3, sizes = [[2, 3], [3, 4]]   aten::mm  [[2, 3], [3, 4]]
//	layer 3                                                  layer 3
func rangeName(text string) (name, shapes string, plain bool) {
	name, rest, _ := strings.Cut(text, ", ")
	key, _, ok := strings.Cut(rest, " = ")
	if !ok || key != "seq" && key != "op_id" && key != "sizes" && key != "input_op_ids" {
		return validText(text), "", true
	}
	if _, after, ok := strings.Cut(rest, "sizes = "); ok {
		shapes, _, _ = strings.Cut(after, ", input_op_ids")
	}
	return validText(name), shapes, false
}

// validText returns a text with U+FFFD in the place of what is no UTF-8.
func validText(text string) string { return jsontext.ValidUTF8(text) }

// copyKinds and memoryKinds are the names that PyTorch's profiler writes for the numbers of CUPTI.
var (
	copyKinds = []string{
		1: "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP", "Unified HtoD", "Unified DtoH", "Unified DtoD",
	}
	memoryKinds = []string{"Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"}
)

// copyName returns the name of a copy, such as "Memcpy HtoD (Pinned -> Device)".
func copyName(kind, from, to any) string {
	name := numbered(copyKinds, kind, "kind")
	if from == nil || to == nil {
		return "Memcpy " + name
	}
	return fmt.Sprintf("Memcpy %s (%s -> %s)", name, memoryName(from), memoryName(to))
}

// setName returns the name of a set, such as "Memset (Device)".
func setName(kind any) string {
	if kind == nil {
		return "Memset"
	}
	return "Memset (" + memoryName(kind) + ")"
}

func memoryName(kind any) string { return numbered(memoryKinds, kind, "memory") }

// numbered returns the name of a number, and the number where it has none.
func numbered(names []string, n any, what string) string {
	if i, ok := n.(int64); ok && 0 <= i && i < int64(len(names)) && names[i] != "" {
		return names[i]
	}
	return fmt.Sprintf("%s %v", what, n)
}
