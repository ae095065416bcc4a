// Package ggml records the operations of llama.cpp, driven from Go by
// github.com/hybridgroup/yzma, without cgo and without a change of either.
//
//	hook, err := ggml.Attach(&params, sdk.Tracer(), ggml.EveryOperation)
//	lctx, err := llama.InitFromModel(model, params)
//	code, err := hook.Decode(ctx, lctx, batch) // in place of llama.Decode
//
// An operation has ggml's name (MUL_MAT), shapes with the outermost dimension first, element
// types (q4_K), the path of its weights or its layer (blk.3.ffn_down), the device that holds
// its output (cuda:0) and the step. Views, reshapes and permutations, which compute and move
// nothing, are left out. The callback makes llama.cpp wait for the device after each node and
// keeps ggml from fusing nodes, so that a step takes longer; [EveryLayer] costs less.
//
// It reads the library's tensors, whose layout is not part of ggml's interface: Attach checks
// it and refuses a version that differs. README.md has the versions and the cost.
package ggml

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/hybridgroup/yzma/pkg/llama"
	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// Mode is how much is recorded.
type Mode uint8

const (
	// EveryOperation records each node of the graph that computes or moves anything.
	EveryOperation Mode = iota
	// EveryLayer records one operation, "layer", for the nodes of a layer, which run together,
	// and one for what comes behind them. A layer ends with the node l_out-N; where a model has
	// none, the first node of a layer counts to the one before.
	EveryLayer
	// Off sets no callback.
	Off
)

// Recording is an [optrace.Tracer], which makes spans of the operations, or an
// [optrace.Processor], which takes them as entries at less cost.
type Recording interface {
	Recorder(ctx context.Context) *optrace.Recorder
}

// Hook records what runs on the contexts that it is attached to, step by step and on one goroutine.
type Hook struct {
	to       Recording
	mode     Mode
	describe func(*tensor) *node // what stays the same of a node
	nodes    map[nodeKey]*node
	dims     [4]int64

	rec   *optrace.Recorder // nil between steps
	step  int64
	layer int  // under way
	open  bool // whether one is
}

// nodeKey tells nodes apart whose names, types, paths or devices may differ.
type nodeKey struct {
	name      [64]byte
	op, dtype int32
	variant   int32 // which of the unary operations, and others
	buffer    uintptr
	src       [10]*tensor
}

// node is what stays the same of a node from step to step; its shapes do not.
type node struct {
	name, device string
	dtype        op.DType
	attrs        []attribute.KeyValue
	layer        int
	silent       bool // computes and moves nothing
	stores       bool // its first input into a part of its output
	ends         bool // a layer
}

const maxNodes = 1 << 16

// attached keeps hooks alive for the library, which the garbage collector does not look into.
var attached sync.Map

// callback is the function that the library calls, one for all hooks, since none is ever freed.
var callback = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(t *tensor, ask bool, h *Hook) bool { return h.evaluate(t, ask) })
})

// Attach sets the evaluation callback in the parameters, for the contexts that are made from
// them. [llama.Load] comes first. It fails where the parameters have a callback already, and
// where the library is one that it cannot read. The Hook stays until the process ends.
func Attach(params *llama.ContextParams, to Recording, mode Mode) (*Hook, error) {
	h := &Hook{to: to, mode: mode, nodes: make(map[nodeKey]*node)}
	switch {
	case mode == Off:
		return h, nil
	case params.CbEval != 0:
		return nil, errors.New("ggml: the parameters have an evaluation callback already")
	case llama.LibPath() == "":
		return nil, errors.New("ggml: no library is loaded; llama.Load comes first")
	}
	if !callbackKnown(llama.ContextDefaultParams()) {
		return nil, errors.New("ggml: the library has another layout of llama_context_params than yzma knows")
	}
	lib, err := openLibrary(llama.LibPath())
	if err != nil {
		return nil, err
	}
	if err := lib.checkLayout(); err != nil {
		return nil, err
	}
	h.describe = lib.describe
	attached.Store(h, nil)
	params.CbEval, params.CbEvalUserData = callback(), uintptr(unsafe.Pointer(h))
	return h, nil
}

// callbackKnown reports whether the callback in default parameters lies where yzma has it: the fields
// around it are those that llama.cpp sets.
func callbackKnown(d llama.ContextParams) bool {
	const f16 = llama.GGMLTypeF16
	return d.DefragThold == -1 && d.CbEval == 0 && d.CbEvalUserData == 0 && d.TypeK == f16 && d.TypeV == f16
}

// Decode is [llama.Decode] with its operations recorded below the span of ctx, and waits for
// them. They have the number of the step, which counts the calls from 0.
func (h *Hook) Decode(ctx context.Context, lctx llama.Context, batch llama.Batch) (int32, error) {
	h.Start(ctx)
	defer h.Finish()
	code, err := llama.Decode(lctx, batch)
	return code, errors.Join(err, llama.Synchronize(lctx))
}

// Start begins a step: what runs until [Hook.Finish] is recorded below the span of ctx. Outside of
// steps nothing is recorded.
func (h *Hook) Start(ctx context.Context) {
	if h.mode != Off {
		h.rec = h.to.Recorder(ctx)
		h.rec.Step(h.step)
		h.step++
	}
}

// Finish ends the step and hands its operations over. [llama.Synchronize] comes first.
func (h *Hook) Finish() {
	h.endLayer(nil)
	h.rec.Finish()
	h.rec = nil
}

// evaluate is called with ask before a node, and if it then returns true once more after it: all
// nodes since the last such one ran together. Returning false after a node would end the graph.
func (h *Hook) evaluate(t *tensor, ask bool) bool {
	switch {
	case h.rec == nil:
		return !ask
	case h.mode == EveryLayer && ask:
		return h.addToLayer(h.node(t))
	case h.mode == EveryLayer:
		h.endLayer(t)
		return true
	case ask:
		n := h.node(t)
		if !n.silent {
			h.rec.Begin(n.name, n.device) // last, so that the time is the node's own
		}
		return !n.silent
	}
	h.rec.End()
	n, out := h.node(t), t
	for _, s := range t.inputs() {
		h.rec.In(s.appendShape(h.dims[:0])...)
	}
	if n.stores {
		out = t.src[0]
	}
	h.rec.Out(out.appendShape(h.dims[:0])...).DType(n.dtype).Attrs(n.attrs...)
	return true
}

// addToLayer reports whether n is the last node of a layer.
func (h *Hook) addToLayer(n *node) bool {
	if !h.open {
		h.open, h.layer = true, n.layer
		h.rec.Begin("layer", n.device)
	}
	if h.layer == noLayer {
		h.layer = n.layer
	}
	return n.ends || n.layer != noLayer && n.layer != h.layer
}

// endLayer ends the layer under way, if there is one; its output is t unless that is nil.
func (h *Hook) endLayer(t *tensor) {
	if !h.open {
		return
	}
	h.rec.End()
	h.open = false
	path := "output"
	if h.layer != noLayer {
		path = "blk." + strconv.Itoa(h.layer)
	}
	h.rec.Attrs(tensorconv.OpPath(path))
	if t != nil {
		h.rec.Out(t.appendShape(h.dims[:0])...).DType(h.node(t).dtype)
	}
}

func (h *Hook) node(t *tensor) *node {
	key := nodeKey{t.name, t.op, t.dtype, t.params[0], t.buffer, t.src}
	n := h.nodes[key]
	if n == nil {
		if len(h.nodes) >= maxNodes {
			clear(h.nodes)
		}
		n = h.describe(t)
		h.nodes[key] = n
	}
	return n
}

func (l *library) describe(t *tensor) *node {
	n := &node{name: text(l.opDesc, &t), device: l.device(t.buffer)}
	n.describe(t, func(t *tensor) op.DType { return op.DType(text(l.typeName, &t.dtype)) })
	return n
}

// describe sets what follows from t and the name of its operation.
func (n *node) describe(t *tensor, typeOf func(*tensor) op.DType) {
	path, layer := t.place()
	n.dtype, n.layer, n.ends = typeOf(t), layer, strings.HasPrefix(t.label(), "l_out-")
	if path != "" {
		n.attrs = append(n.attrs, tensorconv.OpPath(path))
	}
	var types []op.DType
	for _, s := range t.inputs() {
		types = append(types, typeOf(s))
	}
	if len(types) > 0 {
		n.attrs = append(n.attrs, tensorconv.InputDTypes(types...))
	}
	switch n.name {
	case "NONE", "VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE":
		n.silent = true
	case "SET_ROWS", "CPY", "CONT", "DUP":
		n.stores = n.name == "SET_ROWS" && len(types) > 0
		n.attrs = append(n.attrs, tensorconv.OpKind(op.KindMemory))
	}
}
