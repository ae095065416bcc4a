package parquet_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	lib "github.com/parquet-go/parquet-go"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/parquet"
)

func write(t *testing.T, path string, content []byte) string {
	t.Helper()
	check.OK(t, os.WriteFile(path, content, 0o600))
	return path
}

// A file, a pipe and a compressed file give the same records, and bytes are counted once.
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
	check.OK(t, lib.Write(&b, rows))
	want := slices.Repeat([]string{"matmul"}, len(rows))
	dir := t.TempDir()
	for _, test := range []struct {
		name, path string
		content    []byte
	}{
		{"file", filepath.Join(dir, "ops.parquet"), b.Bytes()},
		{"pipe", ingest.Stdin, b.Bytes()},
		{"compressed", filepath.Join(dir, "ops.parquet.gz"), check.Gzip(t, b.Bytes())},
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
				check.OK(t, err)
				names = append(names, rec.Entry.Operation)
			}
			if !slices.Equal(names, want) {
				t.Errorf("%d operations, want %d", len(names), len(want))
			}
			stats := ingest.Stats{Files: 1, Bytes: int64(len(test.content)), Formats: []string{"parquet"}}
			check.Equal(t, "stats", stats, in.Stats())
			var size int64
			for _, size = range in.Files() {
			}
			if seen != len(test.content) || size != int64(len(test.content)) {
				t.Errorf("progress of %d bytes, file of %d, want %d", seen, size, len(test.content))
			}
		})
	}
}

// Readers share a table by row groups.
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
	check.OK(t, lib.Write(&b, rows, lib.MaxRowsPerRowGroup(150), lib.Compression(&lib.Uncompressed)))
	damaged := bytes.Clone(b.Bytes())
	damaged[bytes.Index(damaged, binary.LittleEndian.AppendUint64(nil, 700))] ^= 1
	for name, content := range map[string][]byte{"whole": b.Bytes(), "damaged": damaged,
		"cut off": damaged[:len(damaged)-1]} {
		t.Run(name, func(t *testing.T) {
			path := write(t, filepath.Join(t.TempDir(), "ops.parquet"), content)
			want := recordtest.Transcript(t, ingest.Open(path).Records())
			for size, least := range map[int]int{1: len(rows) / 150, 5000: 2, 1 << 20: 1} {
				got, n := inParts(t, content, path, size)
				check.Equal(t, fmt.Sprintf("parts of %d", size), want, got)
				if name == "whole" && (n < least || size == 1<<20 && n > 1) {
					t.Errorf("parts of %d: %d, want %d", size, n, least)
				}
			}
		})
	}
}

// inParts returns the transcripts of the parts of a file, and the number of parts with records.
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

// Entries get the attributes of the preceding resource.
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
		check.OK(t, errors.Join(errs...))
	}
	check.OK(t, w.Close())
	m := new(attr.Mapping)
	m.Keep("host.name")
	var got []string
	for rec, err := range (ingest.Options{Mapping: m}).Open(write(t, filepath.Join(t.TempDir(), "ops.parquet"),
		b.Bytes())).Records() {
		check.OK(t, err)
		if rec.Entry != nil {
			got = append(got, rec.Entry.Attrs[0].Value)
		}
	}
	check.Equal(t, "hosts", want, got)
}
