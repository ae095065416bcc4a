package parquet_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	lib "github.com/parquet-go/parquet-go"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/parquet"
)

// records holds copies of the records of a file.
type records struct {
	all  []op.Record
	bad  []string // unreadable rows
	fail string   // the final error
}

// entries returns the entries among the records.
func (r *records) entries() []*op.Entry {
	var list []*op.Entry
	for _, rec := range r.all {
		if rec.Entry != nil {
			list = append(list, rec.Entry)
		}
	}
	return list
}

// read reads a whole file.
func read(t testing.TB, file []byte) *records {
	t.Helper()
	got := &records{}
	for rec, err := range parquet.RecordsAt(bytes.NewReader(file), int64(len(file)), "ops.parquet") {
		var syntax *op.SyntaxError
		switch {
		case errors.As(err, &syntax):
			got.bad = append(got.bad, syntax.Msg)
		case err != nil:
			got.fail = err.Error()
		default:
			if rec.Entry != nil {
				if err := rec.Entry.Validate(); err != nil {
					t.Errorf("invalid entry %s: %v", rec.Entry.AppendJSON(nil), err)
				}
			}
			got.all = append(got.all, recordtest.Clone(rec))
		}
	}
	return got
}

// table writes records with Writer.
func table(t testing.TB, all []op.Record) []byte {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewWriter(&b)
	for _, rec := range all {
		check.OK(t, writeRecord(w, rec))
	}
	check.OK(t, w.Close())
	return b.Bytes()
}

func writeRecord(w *parquet.Writer, rec op.Record) error {
	switch {
	case rec.Entry != nil:
		return w.Entry(rec.Entry)
	case rec.Span != nil:
		return w.Span(rec.Span)
	case rec.Resource != nil:
		return w.Resource(rec.Resource)
	case rec.Gap != nil:
		return w.Gap(rec.Gap)
	}
	return w.Batch(rec.Batch)
}

func TestRoundTrip(t *testing.T) {
	r := recordtest.Random{Rand: rand.New(rand.NewPCG(1, 2))}
	for _, n := range []int{0, 1, 2, 255, 256, 257, 5000} {
		want := make([]op.Record, n)
		for i := range want {
			want[i] = r.Record()
		}
		for i, extreme := range []int64{math.MinInt64, -1, 0, math.MaxInt64}[:min(n, 4)] {
			e := r.Entry()
			e.Step = op.Known(extreme)
			want[i] = op.Record{Entry: e}
		}
		got := read(t, table(t, want))
		if got.fail != "" || len(got.bad) > 0 {
			t.Fatalf("%d records: %q, %q", n, got.bad, got.fail)
		}
		if diff := cmp.Diff(want, append([]op.Record{}, got.all...)); diff != "" {
			t.Fatalf("%d records read back (-want +got):\n%s", n, diff)
		}
	}
}

func TestStop(t *testing.T) {
	r := recordtest.Random{Rand: rand.New(rand.NewPCG(5, 6))}
	file := table(t, []op.Record{r.Record(), r.Record(), r.Record()})
	for stop := 1; stop <= 3; stop++ {
		n := 0
		for range parquet.RecordsAt(bytes.NewReader(file), int64(len(file)), "ops.parquet") {
			if n++; n == stop {
				break
			}
		}
		check.Equal(t, "records", stop, n)
	}
}

// The reader reuses memory: it allocates per file, page and distinct text.
func TestAllocations(t *testing.T) {
	const n = 20_000
	file := table(t, step(n))
	allocs := testing.AllocsPerRun(3, func() {
		for _, err := range parquet.RecordsAt(bytes.NewReader(file), int64(len(file)), "ops.parquet") {
			check.OK(t, err)
		}
	})
	if allocs/n > 0.1 {
		t.Errorf("%.2f allocations an entry", allocs/n)
	}
}

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
func TestPartsOfRowGroupsConcurrentSafe(t *testing.T) {
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

// inParts returns the transcripts of the parts of a file, read at once, and the number of parts with records.
func inParts(t *testing.T, content []byte, name string, size int) (transcript string, n int) {
	t.Helper()
	parts, err := parquet.Parts(bytes.NewReader(content), int64(len(content)), name, size)
	if err != nil {
		return recordtest.Transcript(t, ingest.Open(name).Records()), 1
	}
	texts := make([]string, len(parts))
	var group sync.WaitGroup
	for i, records := range parts {
		group.Go(func() { texts[i] = recordtest.Transcript(t, records) })
	}
	group.Wait()
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	return strings.Join(texts, ""), len(texts)
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

// FuzzRecords reads arbitrary bytes as a file.
func FuzzRecords(f *testing.F) {
	rows := []minimal{{"", "matmul", new(int64(1))}, {"span", "", nil}, {"", "relu", new(int64(2))}}
	small := []lib.WriterOption{lib.DataPageStatistics(false)}
	f.Add(foreign(f, rows, small...))
	f.Add(foreign(f, rows, append(small, lib.Compression(&lib.Snappy), lib.DataPageVersion(1))...))
	f.Add(foreign(f, rows, append(small, every(&lib.RLEDictionary, lib.ByteArray, lib.Int64)...)...))
	f.Add(foreign(f, []struct {
		Operation  string            `parquet:"operation,delta"`
		DurationNS int64             `parquet:"duration_ns,delta"`
		Shapes     [][]int64         `parquet:"input_shapes,list"`
		Attrs      map[string]string `parquet:"attrs"`
	}{{"matmul", 1, [][]int64{{2, 3}, {}}, map[string]string{"a": "b"}}}, small...))
	f.Add([]byte("PAR1\x00\x00\x00\x00\x00PAR1"))
	f.Fuzz(func(t *testing.T, file []byte) {
		// A small file may hold a million equal rows.
		const maxRecords = 1000
		recordtest.Check(t, func(yield func(op.Record, error) bool) {
			left := maxRecords
			for rec, err := range parquet.RecordsAt(bytes.NewReader(file), int64(len(file)), "fuzz") {
				if left--; left < 0 || !yield(rec, err) {
					return
				}
			}
		})
	})
}

// The table reads back unchanged with any names and times.
func FuzzWrite(f *testing.F) {
	optest.FuzzEntries(f, func(t *testing.T, e *op.Entry) {
		var b bytes.Buffer
		w := parquet.NewWriter(&b)
		check.OK(t, w.Entry(e))
		check.OK(t, w.Close())
		var got []string
		for rec, err := range parquet.Records(&b, "table", parquet.MaxSpoolBytes) {
			check.OK(t, err)
			got = append(got, string(rec.Entry.AppendJSON(nil)))
		}
		check.Equal(t, "", []string{string(e.AppendJSON(nil))}, got)
	})
}

// docs/reliability.md: damaged files never read as empty without an error.
func TestMutantsNeverReadEmpty(t *testing.T) {
	theirs := check.Must(os.ReadFile("testdata/duckdb.parquet"))(t)
	var ours bytes.Buffer
	w := parquet.NewWriter(&ours)
	for rec, err := range ingest.Open("testdata/duckdb.jsonl").Records() {
		check.OK(t, err)
		if rec.Entry != nil {
			check.OK(t, w.Entry(rec.Entry))
		}
	}
	check.OK(t, w.Close())
	for name, sample := range map[string][]byte{"of DuckDB": theirs, "of optrace": ours.Bytes()} {
		t.Run(name, func(t *testing.T) {
			optest.Mutants(t, cases.Count(t, 100, 3000), sample, func(text []byte) optest.Found {
				return optest.Find(ingest.Options{Stdin: bytes.NewReader(text)}.Open(ingest.Stdin).Records())
			})
		})
	}
}
