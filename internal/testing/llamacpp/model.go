package llamacpp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
)

// Model is the size of a model of the Llama architecture.
type Model struct {
	Layers, Width, Hidden, Heads, Vocabulary, Context int
}

const alignment = 32 // the alignment of tensors in a GGUF file, in bytes

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

// Save writes the model with random f32 weights as a GGUF file. It has no tokenizer.
func (m *Model) Save(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20) // keeps the first error
	m.write(w)
	if err = errors.Join(w.Flush(), f.Close()); err != nil {
		return fmt.Errorf("llama.cpp: writing a model: %w", err)
	}
	return nil
}

func (m *Model) write(w *bufio.Writer) {
	all := m.weights()
	values := []any{ // keys, types and values
		"general.architecture", typeString, "llama",
		"general.name", typeString, "random",
		"llama.context_length", typeUint32, uint32(m.Context),
		"llama.embedding_length", typeUint32, uint32(m.Width),
		"llama.block_count", typeUint32, uint32(m.Layers),
		"llama.feed_forward_length", typeUint32, uint32(m.Hidden),
		"llama.attention.head_count", typeUint32, uint32(m.Heads),
		"llama.attention.head_count_kv", typeUint32, uint32(m.Heads),
		"llama.vocab_size", typeUint32, uint32(m.Vocabulary),
		"llama.rope.dimension_count", typeUint32, uint32(m.Width / m.Heads),
		"llama.attention.layer_norm_rms_epsilon", typeFloat, float32(1e-5),
		"tokenizer.ggml.model", typeString, "no_vocab",
	}
	written := 0
	put := func(values ...any) {
		for _, v := range values {
			if text, ok := v.(string); ok {
				written += 8
				_ = binary.Write(w, binary.LittleEndian, uint64(len(text)))
				v = []byte(text)
			}
			written += binary.Size(v)
			_ = binary.Write(w, binary.LittleEndian, v)
		}
	}
	pad := func() { put(make([]byte, -written&(alignment-1))) }
	put([]byte("GGUF"), uint32(3), uint64(len(all)), uint64(len(values)/3))
	put(values...)
	offset := 0
	for _, t := range all {
		put(t.name, uint32(len(t.dims)))
		for _, d := range t.dims {
			put(uint64(d))
		}
		const f32 uint32 = 0
		put(f32, uint64(offset))
		offset += (4*t.elements() + alignment - 1) / alignment * alignment
	}
	pad()
	random := make([]float32, 1<<16)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = float32(r.NormFloat64()) * 0.02
	}
	for _, t := range all {
		n := t.elements()
		if len(t.dims) == 1 {
			put(slices.Repeat([]float32{1}, n))
		}
		for len(t.dims) > 1 && n > 0 {
			some := random[r.IntN(len(random)):]
			some = some[:min(n, len(some))]
			put(some)
			n -= len(some)
		}
		pad()
	}
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
	return append(all, weights{"output_norm.weight", []int{m.Width}},
		weights{"output.weight", []int{m.Width, m.Vocabulary}})
}

func (t *weights) elements() int {
	n := 1
	for _, d := range t.dims {
		n *= d
	}
	return n
}
