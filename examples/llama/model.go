package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/hybridgroup/yzma/pkg/llama"

	"github.com/optrace/optrace/contrib/ggml"
	"github.com/optrace/optrace/internal/release"
	"github.com/optrace/optrace/internal/testing/llamacpp"
)

const _ = release.ModulesMustBeOfOneReleaseV0_3_0

// size has 4 million parameters. A token is a byte.
var size = llamacpp.Model{Layers: 4, Width: 256, Hidden: 1024, Heads: 8, Vocabulary: 256, Context: 4096}

const maxSequences = 4 // requests in a batch

// model is a model in llama.cpp with the memory of its sequences.
type model struct {
	model  llama.Model
	ctx    llama.Context
	memory llama.Memory
	batch  llama.Batch
	hook   *ggml.Hook
	random *rand.Rand
	tokens int // of a step at most
}

// loadModel fetches the libraries, makes the model and loads it. Recording needs attach and hook.Decode.
func loadModel(
	ctx context.Context, cfg config, attach func(*llama.ContextParams) (*ggml.Hook, error), out io.Writer,
) (m *model, err error) {
	libraries, err := llamacpp.Libraries(ctx, out)
	if err != nil {
		return nil, err
	}
	if err := llama.Load(libraries); err != nil {
		return nil, err
	}
	llama.LogSet(llama.LogSilent())
	llama.Init()

	dir, err := os.MkdirTemp("", "llama-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }() // the weights stay in memory
	file := filepath.Join(dir, "random.gguf")
	if err := size.Save(file); err != nil {
		return nil, err
	}
	m = &model{random: rand.New(rand.NewPCG(1, 2)), tokens: cfg.batch}
	if m.model, err = llama.ModelLoadFromFile(file, llama.ModelDefaultParams()); err != nil {
		return nil, err
	}
	params := llama.ContextDefaultParams()
	params.NCtx = uint32(size.Context)
	params.NBatch = uint32(cfg.batch)
	params.NUbatch = uint32(cfg.batch)
	params.NSeqMax = maxSequences
	params.KVUnified = 1
	params.NThreads = int32(cfg.threads)
	params.NThreadsBatch = int32(cfg.threads)
	if m.hook, err = attach(&params); err != nil {
		return nil, err
	}
	if m.ctx, err = llama.InitFromModel(m.model, params); err != nil {
		return nil, err
	}
	if m.memory, err = llama.GetMemory(m.ctx); err != nil {
		return nil, err
	}
	m.batch = llama.BatchInit(int32(cfg.batch), 0, 1)
	return m, nil
}

func (m *model) close() {
	_ = llama.BatchFree(m.batch) // errors of parts that were never made
	_ = llama.Free(m.ctx)
	_ = llama.ModelFree(m.model)
}

// add adds tokens of a sequence to the next step. With last it asks for the logits of the last token.
func (m *model) add(sequence, position int, tokens []byte, last bool) error {
	for i, token := range tokens {
		ids := []llama.SeqId{llama.SeqId(sequence)}
		logits := last && i == len(tokens)-1
		if err := m.batch.Add(llama.Token(token), llama.Pos(position+i), ids, logits); err != nil {
			return err
		}
	}
	return nil
}

// step runs the added tokens and records the operations below the span of ctx.
func (m *model) step(ctx context.Context) error {
	code, err := m.hook.Decode(ctx, m.ctx, m.batch)
	if err == nil && code != 0 {
		err = fmt.Errorf("llama_decode returned %d", code)
	}
	m.batch.NTokens = 0
	return err
}

// sample returns a likely token for the logits of the token at place in the step.
func (m *model) sample(place int) (byte, error) {
	logits, err := llama.GetLogitsIth(m.ctx, int32(place), size.Vocabulary)
	if err != nil {
		return 0, err
	}
	best := byte(' ')
	score := float32(0)
	for _, token := range []byte("abcdefghijklmnopqrstuvwxyz .,") {
		if s := logits[token] + 2*m.random.Float32(); score == 0 || s > score {
			best = token
			score = s
		}
	}
	return best, nil
}

func (m *model) forget(sequence int) error {
	_, err := llama.MemorySeqRm(m.memory, llama.SeqId(sequence), -1, -1)
	return err
}
