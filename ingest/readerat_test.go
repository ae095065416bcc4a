package ingest_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/optrace/optrace/ingest"
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
