package parquet_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	lib "github.com/parquet-go/parquet-go"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/parquet"
)

func write(t *testing.T, path string, content []byte) string {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func gzipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

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
	if err := lib.Write(&b, rows); err != nil {
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
		{"compressed", filepath.Join(dir, "ops.parquet.gz"), gzipped(t, b.Bytes())},
	} {
		t.Run(test.name, func(t *testing.T) {
			opts := ingest.Options{Stdin: bytes.NewReader(test.content)}
			if test.path != ingest.Stdin {
				write(t, test.path, test.content)
			}
			seen := 0
			opts.Progress = func(n int) { seen += n }
			in := opts.Open(test.path)
			var names []string
			for rec, err := range in.Records() {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, rec.Entry.Operation)
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
	if err := lib.Write(&b, rows, lib.MaxRowsPerRowGroup(150), lib.Compression(&lib.Uncompressed)); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(b.Bytes())
	damaged[bytes.Index(damaged, binary.LittleEndian.AppendUint64(nil, 700))] ^= 1
	for name, content := range map[string][]byte{"whole": b.Bytes(), "damaged": damaged, "cut off": damaged[:len(damaged)-1]} {
		t.Run(name, func(t *testing.T) {
			path := write(t, filepath.Join(t.TempDir(), "ops.parquet"), content)
			want := recordtest.Transcript(t, ingest.Open(path).Records())
			for size, least := range map[int]int{1: len(rows) / 150, 5000: 2, 1 << 20: 1} {
				got, n := inParts(t, content, path, size)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("parts of %d: (-want +got)\n%s", size, diff)
				}
				if name == "whole" && (n < least || size == 1<<20 && n > 1) {
					t.Errorf("parts of %d: %d, want %d", size, n, least)
				}
			}
		})
	}
}

// inParts returns the transcripts of the parts of a file, and the number of parts that are
// not empty.
func inParts(t *testing.T, content []byte, name string, size int) (transcript string, n int) {
	t.Helper()
	parts, err := parquet.Parts(bytes.NewReader(content), int64(len(content)), name, size)
	if err != nil {
		return recordtest.Transcript(t, ingest.Open(name).Records()), 1
	}
	for _, records := range parts {
		text := recordtest.Transcript(t, records)
		if text != "" {
			n++
		}
		transcript += text
	}
	return transcript, n
}

// Entries have the attributes of the resources that the rows in front of them state.
func TestResourcesOfRows(t *testing.T) {
	var b bytes.Buffer
	w := parquet.NewWriter(&b)
	var want []string
	for i, host := range []string{"a", "b", "a"} {
		errs := []error{w.Resource(&op.Resource{Service: "s", Attrs: []op.Attr{{Key: "host.name", Value: host}}})}
		for range i + 1 {
			errs = append(errs, w.Entry(&op.Entry{Operation: "relu", Service: "s"}))
			want = append(want, host)
		}
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	m := new(attr.Mapping)
	m.Keep("host.name")
	var got []string
	for rec, err := range (ingest.Options{Mapping: m}).Open(write(t, filepath.Join(t.TempDir(), "ops.parquet"), b.Bytes())).Records() {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Entry != nil {
			got = append(got, rec.Entry.Attrs[0].Value)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("hosts %q, want %q", got, want)
	}
}
