package ingest_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"iter"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/ingest/internal/recordtest"
	"github.com/optrace/optrace/op"
)

// A format that is read here and there gives the same from a file, a pipe and a
// compressed file, and the bytes are counted once.
func TestRandomAccess(t *testing.T) {
	type row struct {
		Operation  string `parquet:"operation"`
		DurationNS int64  `parquet:"duration_ns"`
		Unused     string `parquet:"unused"`
	}
	rows := make([]row, 20_000)
	for i := range rows {
		rows[i] = row{"matmul", int64(i), string(bytes.Repeat([]byte{byte(i), byte(i >> 8)}, 20))}
	}
	var b bytes.Buffer
	if err := parquet.Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	want := slices.Repeat([]string{"matmul"}, len(rows))
	dir := t.TempDir()
	for _, test := range []struct {
		name, path string
		content    []byte
	}{
		{"file", filepath.Join(dir, "ops.parquet"), b.Bytes()},
		{"pipe", ingest.Stdin, b.Bytes()},
		{"compressed", filepath.Join(dir, "ops.parquet.gz"), gzipped(t, b.String())},
	} {
		t.Run(test.name, func(t *testing.T) {
			opts := ingest.Options{Stdin: bytes.NewReader(test.content)}
			if test.path != ingest.Stdin {
				write(t, test.path, test.content)
			}
			seen := 0
			opts.Progress = func(n int) { seen += n }
			in := opts.Open(test.path)
			names, bad, err := read(in)
			if err != nil || len(bad) > 0 {
				t.Fatalf("err = %v, bad = %q", err, bad)
			}
			if !slices.Equal(names, want) {
				t.Errorf("%d operations, want %d", len(names), len(want))
			}
			stats := ingest.Stats{Files: 1, Bytes: int64(len(test.content)), Formats: []string{"parquet"}}
			if diff := cmp.Diff(stats, in.Stats()); diff != "" {
				t.Errorf("stats (-want +got):\n%s", diff)
			}
			var size int64
			for _, size = range in.Files() {
			}
			if seen != len(test.content) || size != int64(len(test.content)) {
				t.Errorf("progress of %d bytes, file of %d, want %d", seen, size, len(test.content))
			}
		})
	}
}

// A table that can be read anywhere is shared out by row groups.
func TestPartsOfRowGroups(t *testing.T) {
	type row struct {
		Operation  string `parquet:"operation,dict"`
		DurationNS int64  `parquet:"duration_ns"`
	}
	rows := make([]row, 2000)
	for i := range rows {
		rows[i] = row{"matmul", int64(i)}
	}
	var b bytes.Buffer
	if err := parquet.Write(&b, rows, parquet.MaxRowsPerRowGroup(150), parquet.Compression(&parquet.Uncompressed)); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(b.Bytes())
	damaged[bytes.Index(damaged, binary.LittleEndian.AppendUint64(nil, 700))] ^= 1
	for name, content := range map[string][]byte{"whole": b.Bytes(), "damaged": damaged, "cut off": damaged[:len(damaged)-1]} {
		t.Run(name, func(t *testing.T) {
			path := write(t, filepath.Join(t.TempDir(), "ops.parquet"), content)
			want := recordtest.Transcript(t, ingest.Open(path).Records())
			for size, least := range map[int]int{1: len(rows) / 150, 5000: 2, 1 << 20: 1} {
				in := ingest.Open(path)
				got, n := inParts(t, in, size, 3)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("parts of %d: (-want +got)\n%s", size, diff)
				}
				if name == "whole" && (n < least || size == 1<<20 && n > 1) {
					t.Errorf("parts of %d: %d, want %d", size, n, least)
				}
				for _, bytes := range in.Files() {
					if name != "cut off" && bytes != int64(len(content)) {
						t.Errorf("%d bytes read of %d", bytes, len(content))
					}
				}
			}
		})
	}
	t.Run("stopped", func(t *testing.T) {
		in := ingest.Open(write(t, filepath.Join(t.TempDir(), "ops.parquet"), b.Bytes()))
		in.SetPartSize(1)
		stop := errors.New("enough")
		err := in.Read(2, func(_ int, _, _ int64, records iter.Seq2[op.Record, error]) error {
			for range records {
				break
			}
			return stop
		})
		if err != stop {
			t.Errorf("error %v, want %v", err, stop)
		}
	})
}
