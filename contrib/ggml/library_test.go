package ggml

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/llamacpp"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

// loadLibrary loads llama.cpp, or skips the test.
func loadLibrary(t testing.TB) {
	t.Helper()
	if llama.LibPath() != "" {
		return
	}
	dir, err := llamacpp.Libraries(t.Context(), t.Output())
	if err != nil {
		t.Skipf("needs the libraries of llama.cpp, which could not be fetched: %v", err)
	}
	check.OK(t, llama.Load(dir))
	llama.LogSet(llama.LogSilent())
	llama.Init()
}

// engine is a model of random weights, with a context for each way to record.
type engine struct {
	model llama.Model
	size  llamacpp.Model
	batch llama.Batch

	threads int32
}

const tokens = 5 // of a step

func newEngine(t testing.TB, size llamacpp.Model) *engine {
	t.Helper()
	loadLibrary(t)
	file := filepath.Join(t.TempDir(), "model.gguf")
	check.OK(t, size.Save(file))
	model, err := llama.ModelLoadFromFile(file, llama.ModelDefaultParams())
	if err != nil || model == 0 {
		t.Fatal("no model: ", err)
	}
	e := &engine{model: model, size: size, batch: llama.BatchInit(tokens, 0, 1), threads: 2}
	for i := range tokens {
		check.OK(t, e.batch.Add(llama.Token(i), llama.Pos(i), []llama.SeqId{0}, i == tokens-1))
	}
	t.Cleanup(func() { _ = llama.ModelFree(model) })
	return e
}

// context makes a context with the parameters set by attach.
func (e *engine) context(t testing.TB, attach func(*llama.ContextParams)) llama.Context {
	t.Helper()
	params := llama.ContextDefaultParams()
	params.NCtx = uint32(e.size.Context)
	params.NThreads = e.threads
	params.NThreadsBatch = e.threads
	attach(&params)
	lctx, err := llama.InitFromModel(e.model, params)
	if err != nil || lctx == 0 {
		t.Fatal("no context: ", err)
	}
	t.Cleanup(func() { _ = llama.Free(lctx) })
	return lctx
}

// decode runs the batch alone.
func (e *engine) decode(t testing.TB, h *Hook, lctx llama.Context) {
	t.Helper()
	memory, err := llama.GetMemory(lctx)
	if err == nil {
		err = llama.MemoryClear(memory, false)
	}
	check.OK(t, err)
	if code, err := h.Decode(t.Context(), lctx, e.batch); code != 0 || err != nil {
		t.Fatal("decoding: ", code, err)
	}
}

func (e *engine) logits(t testing.TB, lctx llama.Context) []float32 {
	t.Helper()
	logits := check.Must(llama.GetLogitsIth(lctx, -1, e.size.Vocabulary))(t)
	return slices.Clone(logits)
}

// record decodes twice and returns the recording and the logits.
func (e *engine) record(t testing.TB, mode Mode) ([]*op.Entry, []float32) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ops.jsonl")
	sdk, err := optrace.Setup(file)
	check.OK(t, err)
	var h *Hook
	lctx := e.context(t, func(p *llama.ContextParams) { h, err = Attach(p, sdk.Tracer(), mode) })
	check.OK(t, err)
	e.decode(t, h, lctx)
	e.decode(t, h, lctx)
	check.OK(t, sdk.Shutdown(t.Context()))
	all, _ := recordtest.Split(t, ingest.Open(file).Records())
	slices.SortFunc(all, func(a, b *op.Entry) int { return cmp.Compare(a.Start.V, b.Start.V) })
	return all, e.logits(t, lctx)
}

var small = llamacpp.Model{Layers: 2, Width: 64, Hidden: 96, Heads: 4, Vocabulary: 80, Context: 256}

// The recording matches the architecture, and the callback does not change results.
func TestLibrary(t *testing.T) {
	e := newEngine(t, small)
	_, want := e.record(t, Off)
	for _, mode := range []Mode{EveryOperation, EveryLayer} {
		if _, got := e.record(t, mode); slices.ContainsFunc(got,
			func(v float32) bool { return math.IsNaN(float64(v)) }) ||
			!slices.Equal(got, want) {
			t.Errorf("mode %d: other logits than without a callback", mode)
		}
	}

	all, _ := e.record(t, EveryOperation)
	products := make(map[string]int)
	for _, o := range all {
		check.OK(t, o.Validate())
		if o.DeviceID != "cpu" || !o.Step.Known || o.Path == "" {
			t.Errorf("%s: device %q, step %v, path %q", o.Operation, o.DeviceID, o.Step, o.Path)
		}
		if o.Operation == "MUL_MAT" {
			line := fmt.Sprintf("%s %v %v %s %v", o.Path, o.InputShapes, o.OutputShape, o.DType, o.InputDTypes)
			products[line]++
		}
	}
	for _, line := range []string{
		"blk.0.attn_q [64x64 5x64] 5x64 f32 [f32 f32]", "blk.1.attn_k [64x64 5x64] 5x64 f32 [f32 f32]",
		"blk.0.ffn_up [96x64 5x64] 5x96 f32 [f32 f32]", "blk.0.ffn_down [64x96 5x96] 5x64 f32 [f32 f32]",
		"blk.1.ffn_gate [96x64 64] 96 f32 [f32 f32]", // the last layer, for the one token that has logits
		"output [80x64 64] 80 f32 [f32 f32]",
	} {
		if products[line] != 2 {
			t.Errorf("%d times %s in\n%v", products[line], line, products)
		}
	}
	if len(products) != 2*7+1 {
		t.Errorf("%d different products: %v", len(products), products)
	}
}

func TestLayersOfLibrary(t *testing.T) {
	all, _ := newEngine(t, small).record(t, EveryLayer)
	var got []string
	for _, o := range all {
		got = append(got, fmt.Sprintf("%d %s %s %v", o.Step.V, o.Operation, o.Path, o.OutputShape))
	}
	want := "0 layer blk.0 5x64, 0 layer blk.1 64, 0 layer output ?, " +
		"1 layer blk.0 5x64, 1 layer blk.1 64, 1 layer output ?"
	if strings.Join(got, ", ") != want {
		t.Errorf("%q", got)
	}
}

// The blocks of element types match ggml's.
func TestBlocks(t *testing.T) {
	loadLibrary(t)
	known := 0
	for number := range llama.GGMLTypeCOUNT {
		name := llama.GGMLTypeName(number)
		elements, bytes := op.DType(name).Block()
		if bytes == 0 {
			t.Logf("%s is not known", name)
			continue
		}
		known++
		wantElements, wantBytes := llama.GGMLBlockSize(number), llama.GGMLTypeSize(number)
		if elements != wantElements || bytes != int64(wantBytes) {
			t.Errorf("%s: %d elements in %d bytes, want %d in %d", name, elements, bytes, wantElements, wantBytes)
		}
	}
	if known < 33 {
		t.Errorf("%d known types", known)
	}
}
