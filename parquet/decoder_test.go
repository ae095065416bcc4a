package parquet

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/parquet/internal/rows"
)

// The examples come from the format's specification.
func TestNumbers(t *testing.T) {
	for _, test := range []struct {
		name  string
		buf   []byte
		width int
		want  []int32
	}{
		{"packed", []byte{0x03, 0x88, 0xc6, 0xfa}, 3, []int32{0, 1, 2, 3, 4, 5, 6, 7}},
		{"equal", []byte{0x08, 0x05}, 3, []int32{5, 5, 5, 5}},
		{"equal, in two runs", []byte{0x10, 0x05, 0x04, 0x05}, 3, []int32{5, 5, 5, 5, 5, 5, 5, 5, 5, 5}},
		{"equal, of two bytes", []byte{0x04, 0x34, 0x12}, 13, []int32{0x1234, 0x1234}},
		{"both", []byte{0x04, 0x01, 0x03, 0xaa, 0x02, 0x00}, 1, []int32{1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0}},
		{"without data", nil, 0, []int32{0, 0, 0}},
		{"padding left out", []byte{0x03, 0x88, 0xc6}, 3, []int32{0, 1, 2, 3, 4}},
		{"equal, cut off", []byte{0x08}, 3, nil},
		{"equal, wider than stated", []byte{0x08, 0x02}, 1, nil},
		{"run that is too long", []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x01}, 1, nil},
		{"head cut off", []byte{0x80}, 1, nil},
		{"empty runs", []byte{0x01, 0x00, 0x01, 0x02, 0x01}, 1, []int32{1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := numbers{memory: new(memory)}
			check.OK(t, h.decode(test.buf, test.width, len(test.want)))
			var got []int32
			for i := range test.want {
				got = append(got, h.at(i))
			}
			check.Equal(t, "", test.want, got)
			equal := len(slices.Compact(got)) <= 1
			if (h.list == nil) != equal {
				t.Errorf("equal numbers: %t; list of %d", equal, len(h.list))
			}
			if test.width > 0 && h.decode(test.buf, test.width, len(test.want)+100) == nil {
				t.Error("there are 100 more")
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
		buf := check.Must((&rle.Encoding{BitWidth: width}).EncodeInt32(nil, want))(t)
		h := numbers{memory: new(memory)}
		if err := h.decode(slices.Clip(buf), width, len(want)); err != nil || !slices.Equal(h.list, want) {
			t.Errorf("numbers of %d bits differ", width)
		}
	}
}

func TestBadDeltas(t *testing.T) {
	golden.Lines(t, "testdata/deltas.txt", func(text string) string {
		buf := check.Must(hex.DecodeString(strings.ReplaceAll(text, " ", "")))(t)
		_, _, err := checkDeltas(buf, 64, 100)
		check.Says(t, text, "", err)
		return fmt.Sprint(err)
	})
}

// Wrong sums of lengths are rejected before the library allocates.
func TestBadTexts(t *testing.T) {
	numbers := func(n ...int32) []byte {
		return check.Must(new(delta.BinaryPackedEncoding).EncodeInt32(nil, n))(t)
	}
	long := make([]int32, 100)
	for i := range long {
		long[i] = maxTextBytes - 1
	}
	for name, test := range map[string]struct {
		shared, own []int32
		data        int
		size        int
	}{
		"negative length":       {nil, []int32{-1}, 9, 0},
		"longer than the page":  {nil, []int32{3, 3}, 5, 0},
		"sum beyond 32 bits":    {nil, slices.Repeat([]int32{math.MaxInt32}, 4), 5, 0},
		"shares with nothing":   {[]int32{1}, []int32{1}, 9, 0},
		"shares less than none": {[]int32{0, -1}, []int32{1, 1}, 9, 0},
		"shares too much":       {[]int32{0, 3}, []int32{2, 1}, 9, 0},
		"of another size":       {[]int32{0, 1}, []int32{2, 2}, 9, 2},
		"fewer lengths":         {[]int32{0, 0}, []int32{1}, 9, 0},
		"of too long texts":     {[]int32{0}, []int32{maxTextBytes + 1}, maxTextBytes + 1, 0},
		"of too much in all": {append([]int32{0}, long...), append([]int32{maxTextBytes - 1}, make([]int32, 100)...),
			maxTextBytes, 0},
	} {
		buf := append(numbers(test.own...), make([]byte, test.data)...)
		encoding := format.DeltaLengthByteArray
		if test.shared != nil {
			buf = append(numbers(test.shared...), buf...)
			encoding = format.DeltaByteArray
		}
		_, err := checkTexts(buf, encoding, test.size, len(test.own), 1000)
		check.Says(t, name, "", err)
	}
}

// 2000-01-01 is Julian day 2451545.
func TestInt96(t *testing.T) {
	p := pageValues{data: []byte{1, 0, 0, 0, 0, 0, 0, 0, 0x59, 0x68, 0x25, 0}}
	var v rows.Value
	p.next(&leaf{typ: format.Int96, size: 12}, &v)
	check.Equal(t, "", int64(946_684_800_000_000_001), v.Int)
}

// FuzzDecoder reads arbitrary bytes as the values of a page.
func FuzzDecoder(f *testing.F) {
	numbers := check.Must(new(delta.BinaryPackedEncoding).EncodeInt64(nil, []int64{3, 5, math.MaxInt64, -1}))(f)
	texts := check.Must(new(delta.ByteArrayEncoding).EncodeByteArray(nil, []byte("matmulmatmul_backward"),
		[]uint32{0, 6, 21}))(f)
	f.Add(numbers, uint8(format.Int64), uint8(format.DeltaBinaryPacked), uint8(4))
	f.Add(texts, uint8(format.ByteArray), uint8(format.DeltaByteArray), uint8(2))
	f.Add([]byte{3, 0, 0, 0, 'a', 'b', 'c'}, uint8(format.ByteArray), uint8(format.Plain), uint8(1))
	f.Add([]byte{1, 0x03, 0xaa}, uint8(format.ByteArray), uint8(format.RLEDictionary), uint8(8))
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, uint8(format.Float), uint8(format.ByteStreamSplit), uint8(2))
	f.Add([]byte{2, 0, 0, 0, 0x10, 1}, uint8(format.Boolean), uint8(format.RLE), uint8(8))
	f.Fuzz(func(t *testing.T, data []byte, typ, encoding, values uint8) {
		var l leaf
		element := format.SchemaElement{Name: "x", Type: thrift.New(format.Type(typ % 8)),
			TypeLength: thrift.New(int32(3))}
		check.OK(t, l.setType(&element))
		read := 0
		b := rows.NewBatch()
		c := column{leaf: &l, Use: rows.Use{
			Translate: func(*rows.Batch, *rows.Form, *rows.Value, *rows.Meaning) { read++ },
			Set:       func(*rows.Row, *rows.Meaning) {},
		}}.opened(pages{memory: new(memory)}, b)
		c.hasDictionary = true
		c.dictionary = make([]rows.Meaning, 2)
		if c.setPage(page{values: int(values), encoding: format.Encoding(encoding), data: data}) != nil {
			return
		}
		if n, _ := c.read(b.Reset(256)); n != int(values) && !c.hasIndexes || read > int(values) {
			t.Fatalf("%d rows and %d values of the page's %d", n, read, values)
		}
	})
}

// Columns keep their order; new ones come last.
func TestColumns(t *testing.T) {
	const want = "record step operation device_id input_shapes output_shape duration_ns output_elements memory_bytes kind kind_rule dtype " +
		"start_unix_ns launch_unix_ns stream"
	var names []string
	for _, path := range newSchema().Columns() {
		names = append(names, path[0])
	}
	if got := strings.Join(names, " "); !strings.HasPrefix(got, want) {
		t.Errorf("columns %s", got)
	}
}
