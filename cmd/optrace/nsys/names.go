package nsys

import (
	"bytes"
	"fmt"

	"github.com/optrace/optrace/cmd/optrace/internal/sqlite"
	"github.com/optrace/optrace/internal/text/lexer"
)

// rangeName takes the name of a range apart where PyTorch's emit_nvtx made it, which adds numbers and shapes to the
// names of operators. Others are plain.
//
//	aten::mm, seq = 7, op_id = 3, sizes = [[2, 3], [3, 4]]   aten::mm  [[2, 3], [3, 4]]
//	layer 3                                                  layer 3
func rangeName(text []byte) (name, shapes []byte, plain bool) {
	name, rest, _ := bytes.Cut(text, []byte(", "))
	key, _, ok := bytes.Cut(rest, []byte(" = "))
	switch string(key) {
	case "seq", "op_id", "sizes", "input_op_ids":
	default:
		ok = false
	}
	if !ok {
		return text, nil, true
	}
	if _, after, ok := bytes.Cut(rest, []byte("sizes = ")); ok {
		shapes, _, _ = bytes.Cut(after, []byte(", input_op_ids"))
	}
	return name, shapes, false
}

// validText returns a text with U+FFFD in the place of what is no UTF-8.
func validText(text string) string { return lexer.ValidUTF8(text) }

// copyKinds and memoryKinds are the names that PyTorch's profiler writes for the numbers of CUPTI.
var (
	copyKinds = []string{
		1: "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP", "Unified HtoD",
		"Unified DtoH", "Unified DtoD",
	}
	memoryKinds = []string{"Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"}
)

// copyName returns the name of a copy, such as "Memcpy HtoD (Pinned -> Device)".
func copyName(kind, from, to sqlite.Value) string {
	name := numbered(copyKinds, kind.Int, "kind")
	if from.Kind == sqlite.Null || to.Kind == sqlite.Null {
		return "Memcpy " + name
	}
	return fmt.Sprintf("Memcpy %s (%s -> %s)", name, memoryName(from), memoryName(to))
}

// setName returns the name of a set, such as "Memset (Device)".
func setName(kind sqlite.Value) string {
	if kind.Kind == sqlite.Null {
		return "Memset"
	}
	return "Memset (" + memoryName(kind) + ")"
}

func memoryName(kind sqlite.Value) string { return numbered(memoryKinds, kind.Int, "memory") }

// numbered returns the name of a number, and the number where it has none.
func numbered(names []string, n int64, what string) string {
	if 0 <= n && n < int64(len(names)) && names[n] != "" {
		return names[n]
	}
	return fmt.Sprintf("%s %d", what, n)
}
