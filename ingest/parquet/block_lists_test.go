package parquet

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/optrace/optrace/ingest/internal/rows"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/intern"
	"github.com/optrace/optrace/op"
)

// element is an element of a list of shapes as it is stored.
type element struct {
	rep, def byte
	value    int64 // where def is the highest
}

// pageOf returns a page of elements, whose values are there or are indexes into a
// dictionary of the numbers from 0 to 15.
func pageOf(t *testing.T, list []element, indexes bool) []byte {
	t.Helper()
	var rep, def, values []byte
	for _, e := range list { // a run for each level
		rep, def = append(rep, 2, e.rep), append(def, 2, e.def)
		switch {
		case e.def < 4:
		case indexes:
			values = append(values, 2, byte(e.value))
		default:
			values = binary.LittleEndian.AppendUint64(values, uint64(e.value))
		}
	}
	encoding := format.Plain
	if indexes {
		encoding, values = format.RLEDictionary, append([]byte{4}, values...)
	}
	var body []byte
	for _, levels := range [][]byte{rep, def} {
		body = append(binary.LittleEndian.AppendUint32(body, uint32(len(levels))), levels...)
	}
	body = append(body, values...)
	return append(header(t, format.PageHeader{
		Type: format.DataPage, UncompressedPageSize: int32(len(body)), CompressedPageSize: int32(len(body)),
		DataPageHeader: thrift.New(format.DataPageHeader{
			NumValues: int32(len(list)), Encoding: encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
		}),
	}), body...)
}

func header(t *testing.T, h format.PageHeader) []byte {
	t.Helper()
	text, err := thrift.Marshal(&thrift.CompactProtocol{}, &h)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// randomShapes returns the elements of a row.
func randomShapes(r *rand.Rand) []element {
	switch r.IntN(6) {
	case 0:
		return []element{{def: 0}} // null
	case 1:
		return []element{{def: 1}} // no shapes
	}
	var list []element
	for i := range 1 + r.IntN(3) {
		if r.IntN(5) == 0 {
			list = append(list, element{rep: 1, def: 3}) // a shape without dimensions
		} else {
			for k := range 1 + r.IntN(3) {
				list = append(list, element{rep: byte(1 + min(k, 1)), def: 4, value: int64(r.IntN(3))})
			}
		}
		if i == 0 {
			list[0].rep = 0
		}
	}
	return list
}

// A column of lists has the rows that the reader of rows reads, but for those that go on
// from one page to the next, which are unusual.
func TestListColumn(t *testing.T) {
	l := leaf{path: []string{"input_shapes"}, typ: format.Int64, size: 8, maxDef: 4, maxRep: 2, lists: []int32{2, 4}}
	usual, cut := 0, 0
	for seed := range cases.Numbers(t, 200) {
		r := rand.New(rand.NewPCG(seed, 1))
		const n = 600
		var all []element
		for range n {
			all = append(all, randomShapes(r)...)
		}
		dictionary := make([]byte, 0, 16*8)
		for i := range 16 {
			dictionary = binary.LittleEndian.AppendUint64(dictionary, uint64(i))
		}
		file := append(header(t, format.PageHeader{
			Type: format.DictionaryPage, UncompressedPageSize: 16 * 8, CompressedPageSize: 16 * 8,
			DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: 16, Encoding: format.Plain}),
		}), dictionary...)
		for len(all) > 0 {
			k := min(1+r.IntN(300), len(all))
			file = append(file, pageOf(t, all[:k], r.IntN(3) > 0)...)
			all = all[k:]
		}
		open := func() *column {
			p := pages{src: bytes.NewReader(file), leaf: &l, unpack: new(decompressor), budget: new(budget)}
			c := newColumn(&l, p, shared{strings: new(intern.Table), texts: op.NewBuilder(nil), batch: rows.NewBatch(rows.Size)})
			var chunk columnChunk
			chunk.Meta.Size = int64(len(file))
			c.start(&chunk, n)
			return c
		}
		byRows := open()
		reader := inputShapes(byRows)
		lists := &listColumn[[]op.Shape, op.Shape]{
			column: open(), of: func(r *rows.Row) *[]op.Shape { return &r.InputShapes }, clone: cloneShapes,
		}
		lists.reader = inputShapes(lists.column)
		lists.forget()
		for first := 0; first < n; first += windowRows {
			k := min(windowRows, n-first)
			want := byRows.batch.Reset(k)
			if got, err := reader.read(byRows, want); got != k || err != nil && err != io.EOF {
				t.Fatalf("%d of %d rows, %v", got, k, err)
			}
			var unusual [windowWords]uint64
			if err := lists.load(k, &unusual); err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if unusual[i/64]>>(i%64)&1 != 0 {
					cut++
					continue
				}
				usual++
				if diff := cmp.Diff(want[i].InputShapes, lists.values[lists.codes[i]]); diff != "" {
					t.Fatalf("row %d (-row +column):\n%s", first+i, diff)
				}
			}
		}
	}
	if cut == 0 || usual < 10*cut {
		t.Errorf("%d rows that are cut, %d others", cut, usual)
	}
}
