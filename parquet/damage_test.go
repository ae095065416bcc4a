package parquet_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	lib "github.com/parquet-go/parquet-go"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/parquet"
)

// smallFile has each kind of record.
func smallFile(t testing.TB) []byte {
	t.Helper()
	r := recordtest.Random{Rand: rand.New(rand.NewPCG(9, 10))}
	return table(t, []op.Record{
		{Resource: &op.Resource{Service: "trainer", Rank: op.Known(1)}}, {Batch: &op.Batch{Writer: "w", Entries: 2}},
		{Entry: r.Entry()}, {Span: &op.Span{Name: "step", SpanID: op.SpanID{1}}}, {Entry: r.Entry()},
		{Gap: &op.Gap{Dropped: 3}},
	})
}

func checkFile(t testing.TB, file []byte) {
	t.Helper()
	recordtest.Check(t, parquet.RecordsAt(bytes.NewReader(file), int64(len(file)), "damaged"))
}

func TestTruncated(t *testing.T) {
	file := smallFile(t)
	for n := range len(file) {
		if got := read(t, file[:n]); got.fail == "" {
			t.Fatalf("%d of %d bytes are read", n, len(file))
		}
	}
}

// A wrong byte at any offset gives an error or other values, but no panic and no invalid entry.
// FuzzDecoder also passes the checksums.
func TestFlippedBytes(t *testing.T) {
	rows, _ := flatRows(20)
	for name, file := range map[string][]byte{
		"ours":       smallFile(t),
		"plain":      foreign(t, rows, lib.DataPageVersion(1)),
		"dictionary": foreign(t, rows, every(&lib.RLEDictionary, lib.ByteArray, lib.Int64)...),
		"delta": foreign(t, rows, append(every(&lib.DeltaByteArray, lib.ByteArray),
			every(&lib.DeltaBinaryPacked, lib.Int64)...)...),
	} {
		t.Run(name, func(t *testing.T) {
			for i := 0; i < len(file); i += 1 + len(file)/cases.Count(t, 100, 2000) {
				damaged := bytes.Clone(file)
				damaged[i] ^= [...]byte{0x01, 0x80, 0xff}[i%3]
				checkFile(t, damaged)
			}
		})
	}
}

// Damage costs the rest of its row group and is reported; other row groups are read.
func TestDamagedRowGroup(t *testing.T) {
	rows, want := flatRows(300)
	file := foreign(t, rows, lib.MaxRowsPerRowGroup(100))
	f := check.Must(lib.OpenFile(bytes.NewReader(file), int64(len(file))))(t)
	chunk := f.Metadata().RowGroups[1].Columns[2].MetaData
	file[chunk.DataPageOffset+chunk.TotalCompressedSize-3] ^= 1
	got := read(t, file)
	message := `rows 101 to 200 are left out: column "duration_ns": page's checksum does not match`
	if len(got.bad) != 1 || got.bad[0] != message || got.fail != "" {
		t.Errorf("errors %q, %q", got.bad, got.fail)
	}
	check.Equal(t, "", append(want[:100:100], want[200:]...), got.entries())
}

func TestReadErrors(t *testing.T) {
	file := smallFile(t)
	for name, test := range map[string]struct {
		failFrom, failTo int64
		want             string
	}{
		"footer": {int64(len(file)) - 4, int64(len(file)), "reading parquet footer: broken disk"},
		"page":   {4, 5, `rows 1 to 6 are left out: column "record": broken disk`},
	} {
		t.Run(name, func(t *testing.T) {
			src := brokenAt{bytes.NewReader(file), test.failFrom, test.failTo}
			var messages []string
			for _, err := range parquet.RecordsAt(src, int64(len(file)), "ops.parquet") {
				if err != nil {
					messages = append(messages, err.Error())
				}
			}
			if len(messages) != 1 || !strings.Contains(messages[0], test.want) {
				t.Errorf("errors %q, want one with %q", messages, test.want)
			}
		})
	}
}

// brokenAt fails to read a range of bytes.
type brokenAt struct {
	src      io.ReaderAt
	from, to int64
}

func (b brokenAt) ReadAt(p []byte, off int64) (int, error) {
	if off < b.to && off+int64(len(p)) > b.from {
		return 0, errors.New("broken disk")
	}
	return b.src.ReadAt(p, off)
}

func TestBrokenPipe(t *testing.T) {
	pipe := io.MultiReader(bytes.NewReader(smallFile(t)), iotest.ErrReader(errors.New("broken pipe")))
	for _, err := range parquet.Records(pipe, "-", parquet.MaxSpoolBytes) {
		check.Says(t, "", "broken pipe", err)
	}
}
