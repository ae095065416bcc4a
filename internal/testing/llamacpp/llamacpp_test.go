package llamacpp

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
)

// The file has the size of its tensors, each at its offset.
func TestModel(t *testing.T) {
	m := Model{Layers: 3, Width: 8, Hidden: 12, Heads: 2, Vocabulary: 10, Context: 64}
	name := filepath.Join(t.TempDir(), "model.gguf")
	check.OK(t, m.Save(name))
	data := check.Must(os.ReadFile(name))(t)
	if string(data[:4]) != "GGUF" || binary.LittleEndian.Uint32(data[4:]) != 3 ||
		binary.LittleEndian.Uint64(data[8:]) != 3*9+3 {
		t.Errorf("head % x", data[:24])
	}
	const norm, square, wide, vocabulary = 32, 8 * 8 * 4, 8 * 12 * 4, 8 * 10 * 4 // bytes, divisible by 32
	weights := 3*(2*norm+4*square+3*wide) + norm + 2*vocabulary
	header := len(data) - weights
	if header%alignment != 0 || header < 500 || header > 4000 {
		t.Errorf("%d bytes, %d of them weights", len(data), weights)
	}
	ones := bytes.Repeat([]byte{0, 0, 0x80, 0x3f}, 8)
	if first := data[header+vocabulary:]; !bytes.HasPrefix(first, ones) {
		t.Errorf("the first norm is % x", first[:norm])
	}
	check.Says(t, "no error for a file within a file", "", m.Save(filepath.Join(name, "x")))
}
