package arrow_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest/arrow"
	"github.com/optrace/optrace/ingest/internal/recordtest"
	"github.com/optrace/optrace/internal/arrowipc"
	"github.com/optrace/optrace/internal/golden"
	"github.com/optrace/optrace/internal/race"
)

// samples returns files of other writers: those of render/arrow/peers, arrow-go.arrows
// with types that others do not use, and optrace's own, now and before.
func samples(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.arrow*")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 9 {
		t.Fatalf("only %d samples", len(files))
	}
	return files
}

// Files of other programs lack columns, have others, in another order and of other
// types; text in each of its layouts, dictionaries that grow, compressed buffers.
func TestForeignFiles(t *testing.T) {
	for _, path := range samples(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := recordtest.Transcript(t, arrow.RecordsAt(bytes.NewReader(file), int64(len(file)), path, nil))
			name, _, _ := strings.Cut(filepath.Base(path), ".")
			name, _, _ = strings.Cut(strings.Replace(name, "apache-arrow", "apache", 1), "-zstd")
			name, _, _ = strings.Cut(name, "-lz4")
			name, _, _ = strings.Cut(name, "-categorical")
			name, _, _ = strings.Cut(name, "-before") // ids of spans were text, dimensions no dictionary
			// The forms of a writer hold the same.
			golden.Check(t, filepath.Join("testdata", name+".golden"), got)
			parts, err := arrow.Parts(bytes.NewReader(file), int64(len(file)), path, nil, 1)
			if err != nil {
				t.Fatal(err)
			}
			inParts := ""
			for _, part := range slices.Backward(parts) { // in any order
				inParts = recordtest.Transcript(t, part) + inParts
			}
			if diff := cmp.Diff(got, inParts); diff != "" {
				t.Errorf("in %d parts (-want +got):\n%s", len(parts), diff)
			}
		})
	}
}

// A table that is none of operations, or of a later version, is refused, and says
// why.
func TestRefused(t *testing.T) {
	utf8 := arrowipc.Type{Kind: arrowipc.Utf8}
	number := arrowipc.Type{Kind: arrowipc.Int, Bits: 64, Signed: true}
	for _, test := range []struct {
		name   string
		schema arrowipc.Schema
		want   string
	}{
		{"no columns", arrowipc.Schema{}, "arrow table without a column operation; it has none"},
		{
			"no duration", arrowipc.Schema{Fields: []arrowipc.Field{{Name: "operation", Type: utf8}, {Name: "x", Type: number}}},
			`arrow table without a column duration_ns or duration_us; it has "operation", "x"`,
		},
		{
			"later version", arrowipc.Schema{Metadata: []arrowipc.KeyValue{{Key: "optrace.schema", Value: "optrace.entries/v9"}}},
			`schema "optrace.entries/v9" is not supported, this version reads "optrace.entries/v1"`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := read(t, arrowipc.AppendSchema(nil, &test.schema))
			if got.fail != test.want || len(got.bad) > 0 {
				t.Errorf("%q %q, want %q", got.fail, got.bad, test.want)
			}
		})
	}
}

// Streams behind one another are read one after the other, and what follows the end
// of a stream and is none is reported.
func TestSeveralStreams(t *testing.T) {
	one, two := random(3, 40), random(4, 30)
	file := append(write(t, one, 15), write(t, two, 0)...)
	got := read(t, file)
	if diff := cmp.Diff(append(one, two...), got.all); diff != "" || got.fail != "" || len(got.bad) > 0 {
		t.Errorf("%q %q (-want +got):\n%s", got.fail, got.bad, diff)
	}
	got = read(t, append(file, "something else"...))
	want := []string{"736f6d65 where a message should begin; the rest cannot be read"}
	if diff := cmp.Diff(want, got.bad); diff != "" || len(got.all) != 70 {
		t.Errorf("%d records (-want +got):\n%s", len(got.all), diff)
	}
}

// A batch that is damaged is left out, and the others are there.
func TestDamagedBatch(t *testing.T) {
	all := random(5, 90)
	file := write(t, all, 30)
	body := bodyOfBatch(t, file, 1)
	for i := range 2 * 30 { // the indexes of the column record
		file[body+i] = 0x7f
	}
	got := read(t, file)
	want := []string{`rows 31 to 60 are left out: column "record": index 127 in a dictionary of 4 values`}
	if diff := cmp.Diff(want, got.bad); diff != "" || got.fail != "" {
		t.Errorf("%q (-want +got):\n%s", got.fail, diff)
	}
	if diff := cmp.Diff(append(all[:30:30], all[60:]...), got.all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// bodyOfBatch returns where the body of the n-th record batch of a stream lies.
func bodyOfBatch(t *testing.T, file []byte, n int) int {
	t.Helper()
	for at := 0; ; {
		size := int(binary.LittleEndian.Uint32(file[at+4:]))
		at += arrowipc.PrefixSize + size
		m, err := arrowipc.ReadMessage(file[at-size : at])
		if err != nil {
			t.Fatal(err)
		}
		if m.Kind == arrowipc.RecordBatchMessage {
			if n == 0 {
				return at
			}
			n--
		}
		at += int(m.BodyLength)
	}
}

// Whatever bytes of a file change, reading ends, and what it yields is valid.
func TestFlippedBytes(t *testing.T) {
	file := write(t, random(6, 40), 20)
	for i := 0; i < len(file); i += 1 + len(file)/race.Fewer(4500) {
		damaged := bytes.Clone(file)
		damaged[i] ^= 0x55
		recordtest.Check(t, arrow.Records(bytes.NewReader(damaged), "damaged", nil))
	}
}
