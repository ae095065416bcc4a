// Package ggml records the operations of llama.cpp, driven from Go by github.com/hybridgroup/yzma, without cgo and
// without changes to either.
//
//	hook, err := ggml.Attach(&params, sdk.Tracer(), ggml.EveryOperation)
//	lctx, err := llama.InitFromModel(model, params)
//	code, err := hook.Decode(ctx, lctx, batch) // in place of llama.Decode
//
// An operation has ggml's name (MUL_MAT), shapes with the outermost dimension first, element types (q4_K), the path of
// its weights or its layer (blk.3.ffn_down), the device of its output (cuda:0) and the step. Views, reshapes and
// permutations are left out. The callback makes llama.cpp wait for the device after each node and prevents fused nodes,
// so that a step takes longer; [EveryLayer] costs less.
//
// The package reads the library's tensors. Their layout is not part of ggml's interface: Attach checks it and refuses
// other versions. README.md lists the versions and the cost.
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

// Mode is the level of detail of a recording.
type Mode uint8

const (
	// EveryOperation records each node of the graph that computes or moves data.
	EveryOperation Mode = iota
	// EveryLayer records one operation, "layer", for the nodes of each layer, and one for the nodes after the last
	// layer. A layer ends with the node l_out-N. In a model without such nodes, the first node of a layer belongs to
	// the layer before.
	EveryLayer
	// Off sets no callback.
	Off
)

// Recording is an [optrace.Tracer], for spans, or an [optrace.Processor], for entries at a lower cost.
type Recording interface {
	Recorder(ctx context.Context) *optrace.Recorder
}

// Hook records the operations of its contexts, step by step. One goroutine uses it at a time.
type Hook struct {
	to       Recording
	mode     Mode
	describe func(*tensor) *node
	nodes    map[nodeKey]*node
	dims     [4]int64

	rec   *optrace.Recorder // nil between steps
	step  int64
	layer int  // current layer
	open  bool // a layer has begun
}

// nodeKey identifies the constant properties of a node.
type nodeKey struct {
	name      [64]byte
	op, dtype int32
	variant   int32 // such as the unary operation
	buffer    uintptr
	src       [10]*tensor
}

// node holds the properties of a node that stay the same from step to step.
type node struct {
	name, device string
	dtype        op.DType
	attrs        []attribute.KeyValue
	layer        int
	silent       bool // does not compute or move data
	stores       bool // stores its first input into a part of its output
	ends         bool // ends a layer
}

const maxNodes = 1 << 16

// attached keeps hooks alive for the library, whose memory the garbage collector does not scan.
var attached sync.Map

// callback is the library's callback. All hooks share it, because callbacks are never freed.
var callback = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(t *tensor, ask bool, h *Hook) bool { return h.evaluate(t, ask) })
})

// Attach sets the evaluation callback in params, for contexts made from them. Call [llama.Load] first. Attach returns
// an error if params already have a callback or the library has an unknown layout. The Hook stays in memory until the
// process ends.
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
	params.CbEval = callback()
	params.CbEvalUserData = uintptr(unsafe.Pointer(h))
	return h, nil
}

// callbackKnown reports whether default parameters have the callback at yzma's offset: the fields around it must have
// llama.cpp's defaults.
func callbackKnown(d llama.ContextParams) bool {
	const f16 = llama.GGMLTypeF16
	return d.DefragThold == -1 && d.CbEval == 0 && d.CbEvalUserData == 0 && d.TypeK == f16 && d.TypeV == f16
}

// Decode calls [llama.Decode], records its operations below the span of ctx and waits for them. Their step is the
// number of the call, from 0.
func (h *Hook) Decode(ctx context.Context, lctx llama.Context, batch llama.Batch) (int32, error) {
	h.Start(ctx)
	defer h.Finish()
	code, err := llama.Decode(lctx, batch)
	return code, errors.Join(err, llama.Synchronize(lctx))
}

// Start begins a step. The Hook records operations below the span of ctx until [Hook.Finish].
func (h *Hook) Start(ctx context.Context) {
	if h.mode != Off {
		h.rec = h.to.Recorder(ctx)
		h.rec.Step(h.step)
		h.step++
	}
}

// Finish ends the step and emits its operations. Call [llama.Synchronize] first.
func (h *Hook) Finish() {
	h.endLayer(nil)
	h.rec.Finish()
	h.rec = nil
}

// evaluate is the callback. The library calls it with ask before a node and, if it returned true, again after the node
// and all nodes since the last such one. A false result after a node would end the graph.
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
			h.rec.Begin(n.name, n.device) // last, to time the node only
		}
		return !n.silent
	}
	h.rec.End()
	n := h.node(t)
	out := t
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
		h.open = true
		h.layer = n.layer
		h.rec.Begin("layer", n.device)
	}
	if h.layer == noLayer {
		h.layer = n.layer
	}
	return n.ends || n.layer != noLayer && n.layer != h.layer
}

// endLayer ends the current layer, if any. Its output is t unless t is nil.
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

// describe sets the properties that follow from t and the operation's name.
func (n *node) describe(t *tensor, typeOf func(*tensor) op.DType) {
	path, layer := t.place()
	n.dtype = typeOf(t)
	n.layer = layer
	n.ends = strings.HasPrefix(t.label(), "l_out-")
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
