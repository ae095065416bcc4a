package parquet

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"

	"github.com/optrace/optrace/ingest/internal/rows"
)

// The examples are those of the format's specification.
func TestNumbers(t *testing.T) {
	for _, test := range []struct {
		name  string
		buf   []byte
		width int
		want  []int32
		end   bool // there are no more
	}{
		{"packed", []byte{0x03, 0x88, 0xc6, 0xfa}, 3, []int32{0, 1, 2, 3, 4, 5, 6, 7}, true},
		{"equal", []byte{0x08, 0x05}, 3, []int32{5, 5, 5, 5}, true},
		{"equal, of two bytes", []byte{0x04, 0x34, 0x12}, 13, []int32{0x1234, 0x1234}, true},
		{"both", []byte{0x04, 0x01, 0x03, 0xaa, 0x02, 0x00}, 1, []int32{1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0}, true},
		{"without data", nil, 0, []int32{0, 0, 0}, false},
		{"of no width", []byte{0x06}, 0, []int32{0, 0, 0}, false},
		{"packed, of no width", []byte{0x03}, 0, []int32{0, 0, 0, 0, 0, 0, 0, 0}, false},
		{"padding left out", []byte{0x03, 0x88, 0xc6}, 3, []int32{0, 1, 2, 3, 4}, true},
		{"equal, cut off", []byte{0x08}, 3, nil, true},
		{"equal, wider than stated", []byte{0x08, 0x02}, 1, nil, true},
		{"run that is too long", []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x01}, 1, nil, true},
		{"head cut off", []byte{0x80}, 1, nil, true},
		{"empty packed runs", []byte{0x01, 0x01, 0x02, 0x01}, 1, []int32{1}, true},
		{"empty run of equal ones, which ends them", []byte{0x04, 0x01, 0x00, 0x01, 0x02, 0x01}, 1, []int32{1, 1}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := numbers{budget: new(budget)}
			n := len(test.want)
			if test.end {
				n += 100
			}
			_ = h.decode(test.buf, test.width, n)
			var got []int32
			for i := range h.n {
				got = append(got, h.at(i))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}

// The library's encoder is the reference.
func TestNumbersOfManyWidths(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for width := 1; width <= 32; width++ {
		want := make([]int32, 1000)
		for i := range want {
			if want[i] = int32(r.Uint32() >> (32 - width)); r.IntN(4) > 0 && i > 0 {
				want[i] = want[i-1]
			}
		}
		buf, err := (&rle.Encoding{BitWidth: width}).EncodeInt32(nil, want)
		if err != nil {
			t.Fatal(err)
		}
		h := numbers{budget: new(budget)}
		if err := h.decode(slices.Clip(buf), width, len(want)); err != nil || !slices.Equal(h.list, want) {
			t.Errorf("numbers of %d bits differ", width)
		}
	}
}

// The library's encoder is the reference.
func TestDeltas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var got []int64
	for _, n := range []int{0, 1, 2, 33, 128, 129, 130, 1000} {
		for _, bits := range []int{1, 7, 8, 31, 33, 57, 58, 63, 64} {
			want := make([]int64, n)
			for i := range want {
				want[i] = int64(r.Uint64() >> (64 - bits))
			}
			buf, err := new(delta.BinaryPackedEncoding).EncodeInt64(nil, want)
			if err != nil {
				t.Fatal(err)
			}
			var rest []byte
			got, rest, err = decodeDeltas(got, append(buf, "rest"...), n)
			if string(rest) != "rest" || err != nil {
				t.Errorf("%d values of %d bits: rest %q, %v", n, bits, rest, err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d values of %d bits differ", n, bits)
			}
		}
	}
}

func TestBadDeltas(t *testing.T) {
	for name, buf := range map[string][]byte{
		"nothing":               {},
		"block of no values":    {0x00, 0x04, 0x01, 0x02},
		"no miniblocks":         {0x80, 0x01, 0x00, 0x01, 0x02},
		"uneven miniblocks":     {0x80, 0x01, 0x03, 0x01, 0x02},
		"miniblocks of 4":       {0x20, 0x08, 0x01, 0x02},
		"more values than left": {0x80, 0x01, 0x04, 0x7f, 0x02},
		"huge block":            {0x80, 0x80, 0x80, 0x80, 0x01, 0x04, 0x02, 0x02},
		"no widths":             {0x80, 0x01, 0x04, 0x02, 0x02, 0x00, 0x00},
		"width of 65":           {0x80, 0x01, 0x04, 0x02, 0x02, 0x00, 0x41, 0x00, 0x00, 0x00},
		"miniblock cut off":     {0x80, 0x01, 0x04, 0x02, 0x02, 0x00, 0x08, 0x00, 0x00, 0x00, 0x01},
	} {
		if _, _, err := decodeDeltas(nil, buf, 100); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestInt96(t *testing.T) {
	// 2000-01-01 is Julian day 2451545.
	b := []byte{1, 0, 0, 0, 0, 0, 0, 0, 0x59, 0x68, 0x25, 0}
	if got, want := int96(b), int64(946_684_800_000_000_001); got != want {
		t.Errorf("%d, want %d", got, want)
	}
}

// FuzzDecoder reads arbitrary bytes as the values of a page.
func FuzzDecoder(f *testing.F) {
	numbers, err := new(delta.BinaryPackedEncoding).EncodeInt64(nil, []int64{3, 5, math.MaxInt64, -1})
	if err != nil {
		f.Fatal(err)
	}
	texts, err := new(delta.ByteArrayEncoding).EncodeByteArray(nil, []byte("matmulmatmul_backward"), []uint32{0, 6, 21})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(numbers, uint8(format.Int64), uint8(format.DeltaBinaryPacked), uint8(4))
	f.Add(texts, uint8(format.ByteArray), uint8(format.DeltaByteArray), uint8(2))
	f.Add([]byte{3, 0, 0, 0, 'a', 'b', 'c'}, uint8(format.ByteArray), uint8(format.Plain), uint8(1))
	f.Add([]byte{1, 0x03, 0xaa}, uint8(format.ByteArray), uint8(format.RLEDictionary), uint8(8))
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, uint8(format.Float), uint8(format.ByteStreamSplit), uint8(2))
	f.Add([]byte{2, 0, 0, 0, 0x10, 1}, uint8(format.Boolean), uint8(format.RLE), uint8(8))
	f.Fuzz(func(t *testing.T, data []byte, typ, encoding, values uint8) {
		l := leaf{path: []string{"x"}, typ: format.Type(typ % 8)}
		if l.size = typeSizes[l.typ]; l.typ == format.FixedLenByteArray {
			l.size = 3
		}
		c := newColumn(&l, pages{budget: new(budget)}, shared{})
		c.hasDictionary, c.dictionary = true, c.own
		if c.setPage(page{values: int(values), encoding: format.Encoding(encoding), data: data}) != nil {
			return
		}
		if c.n > int(values) || c.own.n > int(values) {
			t.Fatalf("more than the %d values of the page", values)
		}
		for i := range c.own.n {
			_, _ = l.number(c.own.at(i))
		}
	})
}

// FuzzLists reads arbitrary bytes as a page of lists of shapes.
func FuzzLists(f *testing.F) {
	// [[2,3],[]], null, []
	f.Add([]byte{0x03, 0x58, 0x00}, []byte{0x03, 0x24, 0x04}, []byte{1, 0x03, 0x02}, uint8(5))
	f.Add([]byte{0x06, 0x00}, []byte{0x06, 0x04}, []byte{0, 0x06}, uint8(3))
	f.Fuzz(func(t *testing.T, rep, def, data []byte, values uint8) {
		l := leaf{path: []string{"x"}, typ: format.Int64, size: 8, maxDef: 4, maxRep: 2, lists: []int32{2, 4}}
		b := rows.NewBatch(rows.Size)
		c := newColumn(&l, pages{budget: new(budget)}, shared{batch: b})
		c.hasDictionary, c.dictionaries, c.dictionary = true, 1, c.own
		c.dictionary.data, c.dictionary.n = make([]byte, 16), 2
		if c.setPage(page{values: int(values), encoding: format.RLEDictionary, rep: rep, def: def, data: data}) != nil {
			return
		}
		r := inputShapes(c)
		rows := 0
		for {
			batch := b.Reset(7)
			n, err := r.read(c, batch)
			for i := range batch[:n] {
				for _, s := range batch[i].InputShapes {
					_, _ = s.Elements()
				}
			}
			if rows += n; err != nil {
				break
			}
		}
		if rows > int(values) {
			t.Fatalf("%d rows of %d values", rows, values)
		}
	})
}
