package ggml

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

// tensor is the struct ggml_tensor of the library.
type tensor struct {
	dtype  int32
	buffer uintptr
	ne     [4]int64 // innermost dimension first
	nb     [4]uint64
	op     int32
	params [16]int32
	_      int32 // flags
	src    [10]*tensor
	_      [3]uint64 // view_src, view_offs, data
	name   [64]byte
	_      [2]uint64 // extra, padding
}

// appendShape appends the dimensions, outermost first, without leading ones.
func (t *tensor) appendShape(dims []int64) []int64 {
	n := len(t.ne)
	for n > 1 && t.ne[n-1] == 1 {
		n--
	}
	for n--; n >= 0; n-- {
		dims = append(dims, t.ne[n])
	}
	return dims
}

func (t *tensor) label() string {
	name, _, _ := bytes.Cut(t.name[:], []byte{0})
	return string(name)
}

const noLayer = -1 // the layer of a node outside all layers, or in an unknown one

// Names of a layer's results, such as "Qcur-0 (view)" and "cache_k_l0", and of weights, such as "blk.3.ffn_down.weight".
var (
	nameInLayer   = regexp.MustCompile(`^(.+?)(?:-|_l)(\d+)(?: \(.*)?$`)
	nameOfWeights = regexp.MustCompile(`^((?:blk\.(\d+)\.)?.+)\.weight$`)
)

// place returns the path and the layer of a node. The path is the path of its weights, or else its own name in the
// layer, or the layer of its first input with a layer:
//
//	ffn_out-3 of blk.3.ffn_down.weight   blk.3.ffn_down
//	kq_soft_max-3                        blk.3.kq_soft_max
//	node_17 of Qcur-3 (view)             blk.3: ggml's own name changes with the graph
//	result_norm                          result_norm
func (t *tensor) place() (path string, layer int) {
	layer = noLayer
	name := t.label()
	if m := nameInLayer.FindStringSubmatch(name); m != nil {
		path = "blk." + m[2] + "." + m[1]
		layer = number(m[2])
	} else if !strings.HasPrefix(name, "node_") {
		path, _, _ = strings.Cut(name, " (")
	}
	for _, s := range t.inputs() {
		if m := nameOfWeights.FindStringSubmatch(s.label()); m != nil {
			return m[1], max(layer, number(m[2]))
		}
	}
	for _, s := range t.inputs() {
		if m := nameInLayer.FindStringSubmatch(s.label()); m != nil && path == "" {
			path = "blk." + m[2] // may differ from the node's own layer
		}
	}
	return path, layer
}

func number(digits string) int {
	if n, err := strconv.Atoi(digits); err == nil {
		return n
	}
	return noLayer
}

// inputs returns the inputs before the first nil.
func (t *tensor) inputs() []*tensor {
	n := 0
	for n < len(t.src) && t.src[n] != nil {
		n++
	}
	return t.src[:n]
}

// deviceID returns the conventional id of a device: cpu for CPU, cuda:0 for CUDA0.
func deviceID(name string) string {
	kind := strings.TrimRight(name, "0123456789")
	if kind == name || kind == "" {
		return strings.ToLower(name)
	}
	return strings.ToLower(kind) + ":" + name[len(kind):]
}
