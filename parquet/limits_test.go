package parquet_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	lib "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/parquet"
)

// forged is a file with forged metadata: a table with the columns operation and duration_ns in one row
// group. Both have the same page.
type forged struct {
	schema  []format.SchemaElement
	numRows int64
	rows    int64 // of the row group
	header  format.PageHeader
	body    []byte
	padding int // bytes outside the columns
	change  func(c *format.ColumnMetaData)
}

func group(name string, children int32) format.SchemaElement {
	return format.SchemaElement{Name: name, NumChildren: thrift.New(children)}
}

func column(name string, typ format.Type, repetition format.FieldRepetitionType) format.SchemaElement {
	return format.SchemaElement{Name: name, Type: thrift.New(typ), RepetitionType: thrift.New(repetition)}
}

// forge returns a table of n equal rows. Their page refers to a dictionary of one value, so it is empty.
func forge(n int64) *forged {
	return &forged{
		schema: []format.SchemaElement{
			group("root", 2), column("operation", format.Int32, format.Required),
			column("duration_ns", format.Int32, format.Required),
		},
		numRows: n, rows: n,
		header: dataPage(int32(min(n, math.MaxInt32)), format.RLEDictionary, []byte{0}),
		body:   []byte{0},
	}
}

func dataPage(values int32, encoding format.Encoding, body []byte) format.PageHeader {
	return format.PageHeader{
		Type: format.DataPage, UncompressedPageSize: int32(len(body)), CompressedPageSize: int32(len(body)),
		DataPageHeader: thrift.New(format.DataPageHeader{
			NumValues: values, Encoding: encoding, DefinitionLevelEncoding: format.RLE,
			RepetitionLevelEncoding: format.RLE,
		}),
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	return check.Must(thrift.Marshal(&thrift.CompactProtocol{}, v))(t)
}

func (f *forged) file(t *testing.T) []byte {
	t.Helper()
	file := []byte("PAR1")
	offset := int64(len(file))
	dictionary := []byte{7, 0, 0, 0}
	file = append(file, marshal(t, &format.PageHeader{
		Type: format.DictionaryPage, UncompressedPageSize: 4, CompressedPageSize: 4,
		DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: 1, Encoding: format.Plain}),
	})...)
	file = append(append(append(file, dictionary...), marshal(t, &f.header)...), f.body...)
	meta := format.FileMetaData{Version: 1, Schema: f.schema, NumRows: f.numRows}
	g := format.RowGroup{NumRows: f.rows}
	for i, e := range f.schema {
		if i == 0 || !e.Type.Valid {
			continue
		}
		c := format.ColumnMetaData{
			Type: e.Type.V, PathInSchema: thrift.Slice[string]{e.Name},
			Encoding:       thrift.Slice[format.Encoding]{format.Plain},
			DataPageOffset: offset, TotalCompressedSize: int64(len(file)) - offset,
		}
		if f.change != nil {
			f.change(&c)
		}
		g.Columns = append(g.Columns, format.ColumnChunk{MetaData: c})
	}
	meta.RowGroups = thrift.Slice[format.RowGroup]{g}
	footer := marshal(t, &meta)
	file = append(append(file, make([]byte, f.padding)...), footer...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(footer))), "PAR1"...)
}

// listOf turns the columns into lists, in one row of n values, in a page with padding.
func (f *forged) listOf(n int32, padding int) {
	// The definition levels are a run of 1; the repetition levels start with 0.
	rep := append([]byte{2, 0}, binary.AppendUvarint(nil, uint64(n-1)<<1)...)
	levels := func(text []byte) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
	}
	f.body = slices.Concat(levels(append(rep, 1)), levels(append(binary.AppendUvarint(nil, uint64(n)<<1), 1)),
		make([]byte, 1+padding))
	f.header = dataPage(n, format.RLEDictionary, f.body)
	f.schema[1].RepetitionType, f.schema[2].RepetitionType = thrift.New(format.Repeated), thrift.New(format.Repeated)
	f.numRows, f.rows = 1, 1
}

// withoutDictionary removes the leading dictionary.
func (f *forged) withoutDictionary(t *testing.T) {
	f.change = func(c *format.ColumnMetaData) {
		skip := c.TotalCompressedSize - int64(len(f.body)) - int64(len(marshal(t, &f.header)))
		c.DataPageOffset += skip
		c.TotalCompressedSize -= skip
	}
}

func TestForged(t *testing.T) {
	got := read(t, forge(3).file(t))
	if got.fail != "" || len(got.bad) > 0 || len(got.entries()) != 3 {
		t.Fatalf("%d entries, %q, %q", len(got.entries()), got.bad, got.fail)
	}
	if e := got.entries()[2]; e.Operation != "7" || e.Duration != 7 {
		t.Errorf("entry %s", e.AppendJSON(nil))
	}
}

// Impossible or expensive claims of a file are rejected before memory is allocated.
func TestLimits(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(f *forged)
		want   string
	}{
		{"rows without bytes", func(f *forged) { f.numRows, f.rows = 1<<40, 1<<40 }, "claims 1099511627776 rows"},
		{"rows in padding", func(f *forged) { f.numRows, f.rows, f.padding = 150_000_000, 150_000_000, 600_000 },
			"claims 150000000 rows"},
		{"rows in equal runs", func(f *forged) {
			f.numRows, f.rows = 1<<14, 1<<14
			f.body = []byte{1}
			for range 2 {
				f.body = append(binary.AppendUvarint(f.body, 1<<30<<1), 0)
			}
			f.header = dataPage(1<<14, format.RLEDictionary, f.body)
		}, "[]"},
		{"runs of more values than the page", func(f *forged) {
			f.body = []byte{1, 2, 0, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0}
			f.header = dataPage(3, format.RLEDictionary, f.body)
		}, "page ends early"},
		{"more rows than the file", func(f *forged) { f.rows = 4 },
			"row group of 2 columns and 4 rows, in a table of 2 columns and 3 rows"},
		{"negative rows", func(f *forged) { f.numRows = -1 }, "metadata are damaged"},
		{"fewer values than rows", func(f *forged) { f.header.DataPageHeader.V.NumValues = 2 },
			"fewer values than the row group has rows"},
		{"negative values", func(f *forged) { f.header.DataPageHeader.V.NumValues = -1 }, "page of -1 values"},
		{"page larger than the file", func(f *forged) { f.header.CompressedPageSize = 1 << 20 },
			"page of 1048576 bytes, the file has 1"},
		{
			"page that expands too far", func(f *forged) { f.header.UncompressedPageSize = 1 << 30 },
			"page of 1073741824 bytes; at most 134217728 are read",
		},
		{"page of no size", func(f *forged) { f.header.CompressedPageSize = -1 }, "page of -1 bytes"},
		{"compressed with something new", func(f *forged) {
			f.change = func(c *format.ColumnMetaData) { c.Codec = 9 }
		}, "unsupported codec 9 "},
		{"LZ4 in frames", func(f *forged) {
			f.change = func(c *format.ColumnMetaData) { c.Codec = format.Lz4 }
		}, "unsupported codec 5 (LZ4)"},
		{"values outside the file", func(f *forged) {
			f.change = func(c *format.ColumnMetaData) { c.TotalCompressedSize = math.MaxInt64 }
		}, "the values are not within the file"},
		{"values before the file", func(f *forged) {
			f.change = func(c *format.ColumnMetaData) { c.DataPageOffset = -1 }
		}, "the values are not within the file"},
		{"no dictionary", func(f *forged) { f.withoutDictionary(t) }, "page refers to a missing dictionary"},
		{"dictionary of more values than fit in memory", func(f *forged) {
			f.body = make([]byte, 1<<20)
			f.header = format.PageHeader{
				Type: format.DictionaryPage, UncompressedPageSize: 1 << 20, CompressedPageSize: 1 << 20,
				DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: 1 << 26,
					Encoding: format.Plain}),
			}
			f.withoutDictionary(t)
		}, "pages of more than 536870912 bytes at a time"},
		{"index beyond the dictionary", func(f *forged) {
			f.body = []byte{8, 6, 5}
			f.header = dataPage(3, format.RLEDictionary, f.body)
		}, "index 5 in a dictionary of 1 values"},
		{"encoding unknown", func(f *forged) { f.header.DataPageHeader.V.Encoding = 77 },
			"encoding 77 is not supported"},
		{"type unknown", func(f *forged) { f.schema[1].Type.V = 9 }, `column "operation" is of unknown type 9`},
		{"column without a type", func(f *forged) { f.schema[1].Type.Valid = false }, `column "operation" has no type`},
		{"columns outside the root", func(f *forged) { f.schema[0].NumChildren.V = 1 },
			"schema has columns outside its root"},
		{"deep schema", func(f *forged) {
			f.schema = f.schema[:1]
			for range 100_000 / 2 {
				f.schema = append(f.schema, group("g", 1))
			}
		}, "schema nests deeper than 64 levels"},
		{"wide schema", func(f *forged) {
			f.schema = slices.Repeat(f.schema[1:2], 1<<16+1)
		}, "more than 65536 columns or row groups"},
		{"billion values in a few bytes", func(f *forged) { f.listOf(1<<30, 0) },
			"page of 1073741824 values in 23 bytes"},
		{"row of a million values", func(f *forged) { f.listOf(1<<21, 1<<15) }, "row of more than 1048576 values"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := forge(3)
			test.change(f)
			file := f.file(t)
			var got *records
			n := check.Allocated(func() { got = read(t, file) })
			if !strings.Contains(fmt.Sprint(got.fail, got.bad), test.want) || test.want != "[]" &&
				len(got.entries()) > 2 {
				t.Errorf("error %q, %q, want %q; %d entries", got.fail, got.bad, test.want, len(got.entries()))
			}
			const most = 32 << 20
			if n > most {
				t.Errorf("%d bytes allocated", n)
			}
		})
	}
}

// Metadata may claim lists of any length and nesting of any depth.
func TestMetadata(t *testing.T) {
	list := func(field byte, elements uint64) []byte {
		return binary.AppendUvarint([]byte{field<<4 | byte(thrift.LIST), 0xf0 | byte(thrift.STRUCT)}, elements)
	}
	const long = 4 << 20
	for _, test := range []struct {
		name   string
		footer []byte
		want   string
	}{
		{"row groups that are not there", list(4, math.MaxInt32), "metadata end early"},
		{"row groups that hold nothing", append(list(4, long), make([]byte, long)...),
			"more than 1048576 columns or row groups"},
		{"columns that hold nothing", append(list(2, long), make([]byte, long)...),
			"more than 65536 columns or row groups"},
		{"another list of structs that hold nothing", append(list(5, long), make([]byte, long)...),
			"more than 65536 columns or row groups"},
		{"lists in lists", append([]byte{0x69}, bytes.Repeat([]byte{0x19}, long)...), "metadata are damaged"},
		{"structs in structs", bytes.Repeat([]byte{0x6c}, long), "metadata are damaged"},
		{"text that is not there", []byte{0x68, 0xff, 0xff, 0xff, 0xff, 0x07}, "metadata end early"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := append(append([]byte("PAR1"), test.footer...), 0)
			file = append(binary.LittleEndian.AppendUint32(file, uint32(len(test.footer)+1)), "PAR1"...)
			var got *records
			n := check.Allocated(func() { got = read(t, file) })
			check.Equal(t, "error", "parquet footer: "+test.want, got.fail)
			const most = 16 << 20
			if n > most {
				t.Errorf("%d bytes allocated", n)
			}
		})
	}
}

// docs/reliability.md: bytes of a column outside its pages allow no rows.
func TestRowsPerByteAreLimited(t *testing.T) {
	const freeRows, padding = 1 << 20, 2 << 20
	const rows = 4 * freeRows
	f := forge(rows)
	f.padding = padding
	f.change = func(c *format.ColumnMetaData) { c.TotalCompressedSize += padding }
	n := 0
	var last error
	for rec, err := range parquet.Records(bytes.NewReader(f.file(t)), "file", parquet.MaxSpoolBytes) {
		if rec.Entry != nil {
			n++
		}
		last = err
	}
	if n > freeRows || last == nil || !strings.Contains(last.Error(), "hold more than 16 rows for each byte") {
		t.Errorf("%d rows, error %v", n, last)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// docs/reliability.md: the copy of an input is bounded, and removed.
func TestSpoolIsBounded(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for name, tc := range map[string]struct {
		size, most, read int64
		want             string
	}{
		"in memory":            {1 << 20, 1 << 10, 1<<10 + 1, "too large to be copied"},
		"in a file":            {1 << 40, 32 << 20, 32<<20 + 1, "too large to be copied"},
		"zeros in front of it": {20 << 20, 32 << 20, 20 << 20, "no footer"},
	} {
		src := &io.LimitedReader{R: io.MultiReader(strings.NewReader("PAR1"), zeros{}), N: tc.size}
		var last error
		for _, err := range parquet.Records(src, "file", tc.most) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), tc.want) || tc.size-src.N != tc.read {
			t.Errorf("%s: %d bytes read, error %v", name, tc.size-src.N, last)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left behind %v, %v", name, left, err)
		}
	}
}

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
