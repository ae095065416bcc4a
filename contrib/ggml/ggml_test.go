package ggml

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
)

// newTensor returns a tensor with its innermost dimension first.
func newTensor(name string, src []*tensor, dims ...int64) *tensor {
	t := &tensor{ne: [4]int64{1, 1, 1, 1}}
	copy(t.name[:], name)
	copy(t.src[:], src)
	copy(t.ne[:], dims)
	return t
}

func TestPlace(t *testing.T) {
	golden.Lines(t, "testdata/places.txt", func(line string) string {
		names := strings.Split(line, ", ")
		var inputs []*tensor
		for _, name := range names[1:] {
			inputs = append(inputs, newTensor(name, nil))
		}
		path, layer := newTensor(names[0], inputs).place()
		if layer == noLayer {
			return strings.TrimSpace(path + " in no layer")
		}
		return fmt.Sprintf("%s in layer %d", path, layer)
	})
}

func TestLabelFillsItsRoom(t *testing.T) {
	check.Equal(t, "", strings.Repeat("x", 64), newTensor(strings.Repeat("x", 70), nil).label())
}

func TestAppendShape(t *testing.T) {
	for _, test := range []struct{ dims, want []int64 }{
		{[]int64{64, 16, 4, 1}, []int64{4, 16, 64}},
		{[]int64{64, 1, 1, 2}, []int64{2, 1, 1, 64}},
		{[]int64{1, 1, 1, 1}, []int64{1}},
		{[]int64{0, 1, 1, 1}, []int64{0}},
	} {
		check.Equal(t, "", test.want, newTensor("", nil, test.dims...).appendShape(nil))
	}
}

func TestDeviceID(t *testing.T) {
	for name, want := range map[string]string{"CPU": "cpu", "CUDA0": "cuda:0", "Vulkan12": "vulkan:12",
		"Metal": "metal", "7": "7", "": ""} {
		check.Equal(t, name, want, deviceID(name))
	}
}

func newProbe() *probe {
	left := newTensor("probe", nil, 3, 5, 2, 11)
	right := newTensor("", nil, 3, 7, 2, 11)
	left.dtype = 1
	right.dtype = 1
	left.nb = [4]uint64{2, 6, 30, 60}
	product := newTensor("", []*tensor{left, right}, 5, 7, 2, 11)
	product.op = 29
	product.params[0] = precision
	left.buffer = 4096
	return &probe{
		version: "9.9.9", operation: "MUL_MAT", overhead: 368, buffer: 4096, left: left, right: right, product: product,
	}
}

// A library with any other layout is refused. The error states its version.
func TestLayout(t *testing.T) {
	check.OK(t, newProbe().check())
	for what, change := range map[string]func(p *probe){
		"size":      func(p *probe) { p.overhead += 8 },
		"type":      func(p *probe) { p.left.dtype = 0 },
		"ne, nb":    func(p *probe) { p.product.ne[1] = 5 },
		"op":        func(p *probe) { p.operation = "ADD" },
		"src":       func(p *probe) { p.product.src[0], p.product.src[1] = p.product.src[1], p.product.src[0] },
		"op_params": func(p *probe) { p.product.params[0], p.product.params[1] = 0, 10 },
		"buffer":    func(p *probe) { p.left.buffer = 0 },
		"name":      func(p *probe) { p.left.name[0] = 0 },
	} {
		p := newProbe()
		change(p)
		want := "ggml: version 9.9.9 of the library has another layout of ggml_tensor than this package knows (" +
			what + ")"
		if err := p.check(); err == nil || err.Error() != want {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestCallbackKnown(t *testing.T) {
	known := llama.ContextParams{DefragThold: -1, TypeK: llama.GGMLTypeF16, TypeV: llama.GGMLTypeF16}
	check.Equal(t, "as llama.cpp sets them", true, callbackKnown(known))
	for what, change := range map[string]func(p *llama.ContextParams){
		"a field more in front": func(p *llama.ContextParams) { p.CbEval = 0xbf800000 },
		"a field less in front": func(p *llama.ContextParams) { p.CbEvalUserData, p.TypeK, p.TypeV = 1<<32+1, 0, 0 },
		"a number less":         func(p *llama.ContextParams) { p.DefragThold = 0 },
	} {
		p := known
		change(&p)
		check.Equal(t, what, false, callbackKnown(p))
	}
}

func TestAttachRefuses(t *testing.T) {
	params := llama.ContextParams{CbEval: 1}
	_, err := Attach(&params, nil, EveryOperation)
	if err == nil || !strings.Contains(err.Error(), "callback already") {
		t.Errorf("with a callback: %v", err)
	}
	params.CbEval = 0
	_, err = Attach(&params, nil, EveryLayer)
	if llama.LibPath() == "" && (err == nil || !strings.Contains(err.Error(), "llama.Load")) {
		t.Errorf("without a library: %v", err)
	}
	h, err := Attach(&params, nil, Off)
	if err != nil || params.CbEval != 0 {
		t.Fatalf("off: %v, callback %x", err, params.CbEval)
	}
	h.Start(t.Context())
	h.Finish()
}

// graph returns two layers in llama.cpp's form, with the names of the operations in data.
var operations = map[*tensor]string{}

func graph() (all []*tensor) {
	add := func(operation, name string, dtype int32, dims []int64, src ...*tensor) *tensor {
		n := newTensor(name, src, dims...)
		n.dtype = dtype
		n.op = 1
		operations[n] = operation
		all = append(all, n)
		return n
	}
	weight := func(name string, dims ...int64) *tensor { return newTensor(name, nil, dims...) }
	x := add("GET_ROWS", "embd", 0, []int64{64, 5}, weight("token_embd.weight", 64, 80), newTensor("inp", nil, 5))
	for i := range 2 {
		k := add("MUL_MAT", fmt.Sprintf("Kcur-%d", i), 0, []int64{64, 5},
			weight(fmt.Sprintf("blk.%d.attn_k.weight", i), 64, 64), x)
		v := add("VIEW", fmt.Sprintf("Kcur-%d (view)", i), 0, []int64{16, 4, 5}, k)
		cache := newTensor(fmt.Sprintf("cache_k_l%d", i), nil, 64, 256)
		cache.dtype = 1
		add("SET_ROWS", fmt.Sprintf("cache_k_l%d (view)", i), 1, []int64{64, 256}, v, newTensor("inp", nil, 5), cache)
		x = add("ADD", fmt.Sprintf("l_out-%d", i), 0, []int64{64, 5}, k, x)
	}
	add("MUL_MAT", "result_output", 0, []int64{80, 5}, weight("output.weight", 64, 80), x)
	return all
}

// evaluateAll evaluates a graph like llama.cpp.
func evaluateAll(t testing.TB, h *Hook, all []*tensor) {
	for _, n := range all {
		if h.evaluate(n, true) && !h.evaluate(n, false) {
			t.Fatal("the graph would end")
		}
	}
}

func newHook(to Recording, mode Mode) *Hook {
	types := []op.DType{"f32", "f16"}
	return &Hook{to: to, mode: mode, nodes: make(map[nodeKey]*node), describe: func(t *tensor) *node {
		n := &node{name: operations[t], device: "cuda:0"}
		n.describe(t, func(t *tensor) op.DType { return types[t.dtype] })
		return n
	}}
}

func newProcessor(t testing.TB) *optrace.Processor {
	t.Helper()
	sdk := check.Must(optrace.Setup(filepath.Join(t.TempDir(), "ops.jsonl")))(t)
	t.Cleanup(func() {
		check.OK(t, sdk.Shutdown(context.WithoutCancel(t.Context())))
	})
	return sdk.Processor()
}

// lines returns the operations in the Hook's Recorder.
func lines(h *Hook) (all []string) {
	for _, e := range h.rec.Current() {
		all = append(all, fmt.Sprintf("%d %s %s %s %s %v %v %v %s", e.Step.V, e.Operation, e.Kind, e.DeviceID, e.Path,
			e.InputShapes, e.InputDTypes, e.OutputShape, e.DType))
	}
	return all
}

func TestEveryOperation(t *testing.T) {
	h := newHook(newProcessor(t), EveryOperation)
	all := graph()
	evaluateAll(t, h, all) // not recorded before a step
	for step := range 2 {
		h.Start(t.Context())
		evaluateAll(t, h, all)
		var want []string
		add := func(format string, args ...any) {
			want = append(want, fmt.Sprintf("%d "+format, append([]any{step}, args...)...))
		}
		add("GET_ROWS compute cuda:0 token_embd [80x64 5] [f32 f32] 5x64 f32")
		for i := range 2 {
			add("MUL_MAT compute cuda:0 blk.%d.attn_k [64x64 5x64] [f32 f32] 5x64 f32", i)
			add("SET_ROWS memory cuda:0 blk.%d.cache_k [5x4x16 5 256x64] [f32 f32 f16] 5x4x16 f16", i)
			add("ADD compute cuda:0 blk.%d.l_out [5x64 5x64] [f32 f32] 5x64 f32", i)
		}
		add("MUL_MAT compute cuda:0 output [80x64 5x64] [f32 f32] 5x80 f32")
		check.Equal(t, "", want, lines(h))
		h.Finish()
	}
}

func TestEveryLayer(t *testing.T) {
	all := graph()
	for _, test := range []struct {
		nodes []*tensor
		want  []string
	}{
		{all, []string{
			"0 layer compute cuda:0 blk.0 [] [] 5x64 f32", "0 layer compute cuda:0 blk.1 [] [] 5x64 f32",
			"0 layer compute cuda:0 output [] [] ? ",
		}},
		// Without l_out the first node of a layer ends the layer before.
		{append(all[:4:4], all[5:8]...),
			[]string{"0 layer compute cuda:0 blk.0 [] [] 5x64 f32", "0 layer compute cuda:0 blk.1 [] [] ? "}},
	} {
		h := newHook(newProcessor(t), EveryLayer)
		h.Start(t.Context())
		evaluateAll(t, h, test.nodes)
		h.endLayer(nil) // like Finish
		check.Equal(t, "", test.want, lines(h))
		h.Finish()
	}
}

// The memory of nodes is bounded and does not go stale when addresses are reused.
func TestNodes(t *testing.T) {
	h := newHook(nil, EveryOperation)
	all := graph()
	product := all[1]
	check.Equal(t, "", "MUL_MAT", h.node(product).name)
	product.op = 2
	operations[product] = "MUL"
	check.Equal(t, "after a change of the operation", "MUL", h.node(product).name)
	for i := range maxNodes + 10 {
		product.variant(int32(i))
		h.node(product)
	}
	if len(h.nodes) > maxNodes {
		t.Errorf("%d nodes", len(h.nodes))
	}
}

func (t *tensor) variant(n int32) { t.params[0] = n }
