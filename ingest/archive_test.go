package ingest_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
)

type zipFile struct {
	name   string
	method uint16
	text   []byte
}

func zipped(t testing.TB, files ...zipFile) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		w := check.Must(z.CreateHeader(&zip.FileHeader{Name: f.name, Method: f.method}))(t)
		check.Must(w.Write(f.text))(t)
	}
	check.OK(t, z.Close())
	return b.Bytes()
}

// Each file of an archive is an input by its own format.
func TestInputOfArchives(t *testing.T) {
	dir := t.TempDir()
	archive := zipped(t, zipFile{"b/trace.json.gz", zip.Store, check.Gzip(t, seedTrace)}, zipFile{"b/", zip.Store, nil},
		zipFile{"./a.jsonl", zip.Deflate, []byte(entryLine + entryLine)},
		zipFile{"README", zip.Deflate, []byte("about")},
		zipFile{"__MACOSX/._a.jsonl", zip.Deflate, []byte("x")}, zipFile{"b/.hidden", zip.Store, []byte("x")},
		zipFile{"c.parquet", zip.Store, nil})
	path := write(t, filepath.Join(dir, "runs.zip"), archive)
	var seen int
	for _, input := range []string{path, dir} {
		seen = 0
		in := ingest.Options{Progress: func(n int) { seen += n }}.Open(input)
		names, bad, err := read(in)
		check.OK(t, err)
		check.Equal(t, "operations", []string{"matmul", "matmul", "relu"}, names)
		if len(bad) != 1 || !strings.Contains(bad[0], "runs.zip/README: unknown format") {
			t.Errorf("bad records %q", bad)
		}
		s := in.Stats()
		if s.Files != 4 || int(s.Bytes) != seen || seen >= len(archive) || !cmp.Equal(s.Formats,
			[]string{"entries-jsonl", "trace-json"}) {
			t.Errorf("stats = %+v, progress told of %d bytes of %d", s, seen, len(archive))
		}
	}
	fsys := fstest.MapFS{"runs.zip": {Data: archive}}
	if got := find("runs.zip", ingest.Options{FS: fsys}); got.Entries != 3 || got.Err != nil {
		t.Errorf("of a file system: %+v", got)
	}
	got, n := inParts(t, ingest.Open(path, path), 1, 3)
	if strings.Count(got, "matmul") != 4 || n < 4 {
		t.Errorf("%d parts: %s", n, got)
	}
	write(t, filepath.Join(dir, "model.pt"), archive)
	if got := find(dir, ingest.Options{}); got.Entries != 3 || got.Malformed != 2 {
		t.Errorf("with a checkpoint: %+v", got)
	}
}

func TestArchivesThatAreRefused(t *testing.T) {
	good := zipped(t, zipFile{"a.jsonl", zip.Store, []byte(strings.Repeat(entryLine, 9))})
	// The directory names the file many times.
	end := bytes.LastIndex(good, []byte("PK\x05\x06"))
	directory := good[bytes.Index(good, []byte("PK\x01\x02")):end]
	overlapping := append(bytes.Clone(good[:end]), directory...)
	overlapping = append(overlapping, good[end:]...)
	tail := overlapping[len(overlapping)-len(good[end:]):]
	binary.LittleEndian.PutUint16(tail[8:], 2)
	binary.LittleEndian.PutUint16(tail[10:], 2)
	binary.LittleEndian.PutUint32(tail[12:], uint32(2*len(directory)))
	encrypted := bytes.Clone(good)
	encrypted[bytes.Index(good, []byte("PK\x01\x02"))+8] |= 1
	other := bytes.Clone(good)
	other[bytes.Index(good, []byte("PK\x01\x02"))+10] = 93
	for _, test := range []struct {
		name string
		text []byte
		want string
	}{
		{"cut off", good[:len(good)-40], "cut off or damaged"},
		{"no files", zipped(t, zipFile{"dir/", zip.Store, nil}), "a zip archive without files"},
		{"overlapping files", overlapping, "overlapping files"},
		{"encrypted", encrypted, "it is encrypted"},
		{"another method", other, "method, 93, is not supported"},
		{"an archive within", zipped(t, zipFile{"b.zip", zip.Store, good}), "unpack it"},
		{"a bomb", zipped(t, zipFile{"a.gz", zip.Deflate, check.Gzip(t, entryLine+strings.Repeat(" ", 65<<20))}),
			"times the size"},
	} {
		got := find(write(t, filepath.Join(t.TempDir(), "x.zip"), test.text), ingest.Options{})
		check.Says(t, test.name, test.want, got.Err)
	}
	got := find(ingest.Stdin, ingest.Options{Stdin: bytes.NewReader(good)})
	check.Says(t, "standard input", "unpack it", got.Err)
}

// Damage within a file of an archive is reported behind its good records.
func TestDamagedArchives(t *testing.T) {
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		good := zipped(t, zipFile{"a.jsonl", method, []byte(strings.Repeat(entryLine, 9))}, zipFile{"b.jsonl", method,
			[]byte(entryLine)})
		damaged := bytes.Clone(good)
		damaged[bytes.Index(good, []byte("a.jsonl"))+len("a.jsonl")+8] ^= 0x55
		got := find(write(t, filepath.Join(t.TempDir(), "x.zip"), damaged), ingest.Options{})
		if got.Err != nil || got.Malformed == 0 || got.Entries == 0 {
			t.Errorf("method %d: %+v", method, got)
		}
	}
}

// FuzzArchive checks that no archive makes the input panic, and that entries are valid.
func FuzzArchive(f *testing.F) {
	f.Add(zipped(f, zipFile{"a.jsonl", zip.Store, []byte(entryLine)}, zipFile{"b.gz", zip.Deflate, []byte(seedTrace)}))
	path := filepath.Join(f.TempDir(), "x.zip")
	f.Fuzz(func(t *testing.T, text []byte) {
		check.OK(t, os.WriteFile(path, text, 0o600))
		recordtest.Check(t, ingest.Open(path).Records())
	})
}
