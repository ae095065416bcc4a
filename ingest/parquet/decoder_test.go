package parquet

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/delta"
)

// The examples are those of the format's specification.
func TestHybrid(t *testing.T) {
	for _, test := range []struct {
		name  string
		buf   []byte
		width int
		want  []uint32
		end   bool // there are no more
	}{
		{"packed", []byte{0x03, 0x88, 0xc6, 0xfa}, 3, []uint32{0, 1, 2, 3, 4, 5, 6, 7}, true},
		{"equal", []byte{0x08, 0x05}, 3, []uint32{5, 5, 5, 5}, true},
		{"equal, of two bytes", []byte{0x04, 0x34, 0x12}, 13, []uint32{0x1234, 0x1234}, true},
		{"both", []byte{0x04, 0x01, 0x03, 0xaa, 0x02, 0x00}, 1, []uint32{1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0}, true},
		{"without data", nil, 0, []uint32{0, 0, 0}, false},
		{"of no width", []byte{0x06}, 0, []uint32{0, 0, 0}, false},
		{"packed, of no width", []byte{0x03}, 0, []uint32{0, 0, 0, 0, 0, 0, 0, 0}, false},
		{"padding left out", []byte{0x03, 0x88, 0xc6}, 3, []uint32{0, 1, 2, 3, 4}, true},
		{"equal, cut off", []byte{0x08}, 3, nil, true},
		{"run that is too long", []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x01}, 1, nil, true},
		{"head cut off", []byte{0x80}, 1, nil, true},
		{"empty runs", []byte{0x00, 0x01, 0x00, 0x01, 0x02, 0x01}, 1, []uint32{1}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var h hybrid
			h.reset(test.buf, test.width)
			for i, want := range test.want {
				if got, err := h.next(); got != want || err != nil {
					t.Fatalf("number %d is %d, %v, want %d", i, got, err, want)
				}
			}
			if _, err := h.next(); test.end != (err != nil) {
				t.Errorf("at the end: %v", err)
			}
		})
	}
}

// The library's encoder is the reference.
func TestDeltas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
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
			var d deltas
			if err := d.reset(append(buf, "rest"...), n); err != nil {
				t.Fatal(err)
			}
			if rest, err := d.rest(); string(rest) != "rest" || err != nil {
				t.Errorf("%d values of %d bits: rest %q, %v", n, bits, rest, err)
			}
			got := make([]int64, n)
			for i := range got {
				if got[i], err = d.next(); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d values of %d bits differ", n, bits)
			}
			if _, err := d.next(); err == nil {
				t.Error("more values than there are")
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
		var d deltas
		err := d.reset(buf, 100)
		for range 2 {
			if err == nil {
				_, err = d.next()
			}
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestUnpack(t *testing.T) {
	b := []byte{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45}
	for width := range 65 {
		for bit := range 8*len(b) - width + 1 {
			want := uint64(0)
			for i := range width {
				at := bit + i
				want |= uint64(b[at/8]>>(at%8)&1) << i
			}
			if got := unpack(b, bit, width); got != want {
				t.Fatalf("%d bits at %d are %#x, want %#x", width, bit, got, want)
			}
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
	f.Add(numbers, uint8(physInt64), uint8(encodingDelta), uint8(4))
	f.Add(texts, uint8(physBytes), uint8(encodingDeltaText), uint8(2))
	f.Add([]byte{3, 0, 0, 0, 'a', 'b', 'c'}, uint8(physBytes), uint8(encodingPlain), uint8(1))
	f.Add([]byte{1, 0x03, 0xaa}, uint8(physBytes), uint8(encodingDictionary), uint8(8))
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, uint8(physFloat), uint8(encodingSplit), uint8(2))
	f.Add([]byte{2, 0, 0, 0, 0x10, 1}, uint8(physBoolean), uint8(encodingRLE), uint8(8))
	f.Fuzz(func(t *testing.T, data []byte, typ, encoding, values uint8) {
		d := decoder{leaf: &leaf{path: []string{"x"}, typ: physical(typ % 8), size: 3}}
		dictionary := []value{{text: "a"}, {text: "b"}}
		if d.reset(page{values: int(values), encoding: int64(encoding), data: data}, dictionary) != nil {
			return
		}
		n := 0
		for {
			v, err := d.read(dictionary)
			if err != nil {
				break
			}
			if n++; n > int(values) {
				t.Fatalf("more than the %d values of the page", values)
			}
			_, _ = d.leaf.integer(v)
		}
	})
}
