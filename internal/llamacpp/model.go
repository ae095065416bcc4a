package llamacpp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
)

// Model is the size of a model of the Llama architecture.
type Model struct {
	Layers, Width, Hidden, Heads, Vocabulary, Context int
}

// alignment is that of tensors in a GGUF file, in bytes.
const alignment = 32

// The types of values in a GGUF file.
const (
	typeUint32 uint32 = 4
	typeFloat  uint32 = 6
	typeString uint32 = 8
)

// weights is a tensor of the model, with its innermost dimension first.
type weights struct {
	name string
	dims []int
}

// Save writes the model with random weights of f32 as a GGUF file. It has no tokenizer.
func (m *Model) Save(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	err = errors.Join(m.write(w), w.Flush(), f.Close())
	if err != nil {
		return fmt.Errorf("llama.cpp: writing a model: %w", err)
	}
	return nil
}

func (m *Model) write(out io.Writer) error {
	g := &ggufWriter{out: out}
	all := m.weights()
	values := []struct {
		key   string
		value any
	}{
		{"general.architecture", "llama"},
		{"general.name", "random"},
		{"llama.context_length", uint32(m.Context)},
		{"llama.embedding_length", uint32(m.Width)},
		{"llama.block_count", uint32(m.Layers)},
		{"llama.feed_forward_length", uint32(m.Hidden)},
		{"llama.attention.head_count", uint32(m.Heads)},
		{"llama.attention.head_count_kv", uint32(m.Heads)},
		{"llama.vocab_size", uint32(m.Vocabulary)},
		{"llama.rope.dimension_count", uint32(m.Width / m.Heads)},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-5)},
		{"tokenizer.ggml.model", "no_vocab"},
	}
	g.put([]byte("GGUF"), uint32(3), uint64(len(all)), uint64(len(values)))
	for _, v := range values {
		g.text(v.key)
		switch value := v.value.(type) {
		case uint32:
			g.put(typeUint32, value)
		case float32:
			g.put(typeFloat, value)
		case string:
			g.put(typeString)
			g.text(value)
		}
	}
	offset := 0
	for _, t := range all {
		g.text(t.name)
		g.put(uint32(len(t.dims)))
		for _, d := range t.dims {
			g.put(uint64(d))
		}
		const f32 uint32 = 0
		g.put(f32, uint64(offset))
		offset += (4*t.elements() + alignment - 1) / alignment * alignment
	}
	g.pad()
	random := make([]float32, 1<<16)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = float32(r.NormFloat64()) * 0.02
	}
	for _, t := range all {
		n := t.elements()
		if len(t.dims) == 1 {
			g.put(slices.Repeat([]float32{1}, n))
		}
		for len(t.dims) > 1 && n > 0 {
			some := random[r.IntN(len(random)):]
			some = some[:min(n, len(some))]
			g.put(some)
			n -= len(some)
		}
		g.pad()
	}
	return g.err
}

func (m *Model) weights() []weights {
	all := []weights{{"token_embd.weight", []int{m.Width, m.Vocabulary}}}
	for i := range m.Layers {
		add := func(name string, dims ...int) {
			all = append(all, weights{fmt.Sprintf("blk.%d.%s.weight", i, name), dims})
		}
		add("attn_norm", m.Width)
		for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
			add(name, m.Width, m.Width)
		}
		add("ffn_norm", m.Width)
		add("ffn_gate", m.Width, m.Hidden)
		add("ffn_up", m.Width, m.Hidden)
		add("ffn_down", m.Hidden, m.Width)
	}
	return append(all, weights{"output_norm.weight", []int{m.Width}}, weights{"output.weight", []int{m.Width, m.Vocabulary}})
}

func (t *weights) elements() int {
	n := 1
	for _, d := range t.dims {
		n *= d
	}
	return n
}

// ggufWriter writes numbers and texts until one fails.
type ggufWriter struct {
	out     io.Writer
	written int
	err     error
}

func (g *ggufWriter) put(values ...any) {
	for _, v := range values {
		if g.err == nil {
			g.err = binary.Write(g.out, binary.LittleEndian, v)
			g.written += binary.Size(v)
		}
	}
}

func (g *ggufWriter) text(s string) { g.put(uint64(len(s)), []byte(s)) }

func (g *ggufWriter) pad() {
	g.put(make([]byte, (alignment-g.written%alignment)%alignment))
}
