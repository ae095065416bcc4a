package llamacpp

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/optrace/optrace/internal/check"
)

// pack returns a package of files with their contents, and its hash.
func pack(t *testing.T, files map[string]string) (packed []byte, hash string) {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	archive := tar.NewWriter(z)
	for name, content := range files {
		check.OK(t, archive.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o644}))
		check.Must(archive.Write([]byte(content)))(t)
	}
	check.OK(t, archive.Close())
	check.OK(t, z.Close())
	sum := sha256.Sum256(out.Bytes())
	return out.Bytes(), hex.EncodeToString(sum[:])
}

// Libraries come out with and without their versions, and nothing else does, wherever a name points.
func TestUnpack(t *testing.T) {
	dir := t.TempDir()
	packed, hash := pack(t, map[string]string{
		"package/bins/linux-x64/libllama.v0.5.0.so": "llama", "package/bins/linux-x64/libggml-base.so": "base",
		"package/package.json": "{}", "package/../../../libevil.so": "evil", "package/bins/linux-x64/addon.node": "node",
	})
	check.OK(t, unpack(packed, hash, dir))
	for name, want := range map[string]string{"libllama.so": "llama", "libllama.v0.5.0.so": "llama", "libggml-base.so": "base",
		"libevil.so": "evil"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if all, _ := os.ReadDir(dir); len(all) != 4 {
		t.Errorf("%v", all)
	}
}

func TestUnpackRefuses(t *testing.T) {
	packed, hash := pack(t, map[string]string{"libllama.so": "llama"})
	check.Says(t, "another package", "SHA-256", unpack(append(packed, 0), hash, t.TempDir()))
	cut := packed[:len(packed)/2]
	sum := sha256.Sum256(cut)
	check.Says(t, "no error for half a package", "", unpack(cut, hex.EncodeToString(sum[:]), t.TempDir()))
}

// The file has the size that its tensors say, each at its place.
func TestModel(t *testing.T) {
	m := Model{Layers: 3, Width: 8, Hidden: 12, Heads: 2, Vocabulary: 10, Context: 64}
	name := filepath.Join(t.TempDir(), "model.gguf")
	check.OK(t, m.Save(name))
	data := check.Must(os.ReadFile(name))(t)
	if string(data[:4]) != "GGUF" || binary.LittleEndian.Uint32(data[4:]) != 3 || binary.LittleEndian.Uint64(data[8:]) != 3*9+3 {
		t.Errorf("head % x", data[:24])
	}
	const norm, square, wide, vocabulary = 32, 8 * 8 * 4, 8 * 12 * 4, 8 * 10 * 4 // bytes, which 32 divides
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
