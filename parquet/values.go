package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/plain"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"

	"github.com/optrace/optrace/parquet/internal/rows"
)

// pageValues has the values of a page or a dictionary, without nulls. They are valid until the next page.
type pageValues struct {
	at int // index of the next value
	// ints has integers in a delta encoding. data has other values in plain encoding, and texts between offsets.
	ints    []int64
	data    []byte
	offsets []uint32

	bits    numbers
	buf     []byte
	numbers []int64
	held    int64 // bytes of buf in the memory
}

// next sets to to the next value. The caller knows their number from decode. A 96-bit timestamp, nanoseconds of the day
// and a Julian day, becomes Unix time in nanoseconds. It wraps around outside the years 1678 to 2262.
func (p *pageValues) next(l *leaf, to *rows.Value) {
	i := p.at
	*to = rows.Value{Kind: l.kind}
	p.at++
	var b []byte
	switch {
	case p.ints != nil:
		to.Int = p.ints[i]
	case l.typ == format.Boolean:
		to.Int = int64(p.data[i/8] >> (i % 8) & 1)
	case l.typ == format.ByteArray:
		to.Bytes = p.data[p.offsets[i]:p.offsets[i+1]]
	default:
		b = p.data[i*l.size : (i+1)*l.size]
	}
	switch le := binary.LittleEndian; {
	case b == nil:
	case l.typ == format.Int32:
		to.Int = int64(le.Uint32(b))
	case l.typ == format.Int64:
		to.Int = int64(le.Uint64(b))
	case l.typ == format.Int96:
		const unixEpochDay, nanosPerDay = 2_440_588, 86_400_000_000_000
		to.Int = (int64(int32(le.Uint32(b[8:])))-unixEpochDay)*nanosPerDay + int64(le.Uint64(b))
	case l.typ == format.Float:
		to.Float = float64(math.Float32frombits(le.Uint32(b)))
	case l.typ == format.Double:
		to.Float = math.Float64frombits(le.Uint64(b))
	default:
		to.Bytes = b
	}
	if l.typ == format.Int32 {
		if to.Int = int64(int32(to.Int)); l.unsigned {
			to.Int = int64(uint32(to.Int))
		}
	}
	if l.kind == rows.Integer && l.unsigned && to.Int < 0 {
		to.Kind = rows.Number
	}
}

var textEncodings = map[format.Encoding]encoding.Encoding{
	format.Plain: new(plain.Encoding), format.DeltaLengthByteArray: new(delta.LengthByteArrayEncoding),
	format.DeltaByteArray: new(delta.ByteArrayEncoding),
}

// decode reads n values from a page without a dictionary. It checks the sizes first, because the library
// allocates as much as they claim.
func (p *pageValues) decode(l *leaf, pg page, n int) (err error) {
	p.at = 0
	p.ints = nil
	p.data = pg.data
	if n == 0 {
		return nil
	}
	need := n * l.size
	switch typ, isText := l.typ, l.typ == format.ByteArray; {
	case pg.encoding == format.Plain && isText: // decoded in place; a length may exceed the page
		return p.decodeTexts(pg.data[:0], slices.Clip(pg.data), pg.encoding, n)
	case pg.encoding == format.Plain && typ == format.Boolean:
		need = (n + 7) / 8
	case pg.encoding == format.Plain:
	case pg.encoding == format.RLE && typ == format.Boolean: // the library misreads runs of ones
		const prefix = 4 // the length
		if len(pg.data) < prefix {
			return errShortPage
		}
		err = p.bits.decode(pg.data[prefix:], 1, n)
		p.data = make([]byte, (n+7)/8)
		for i := 0; err == nil && i < n; i++ {
			p.data[i/8] |= byte(p.bits.at(i)) << (i % 8)
		}
	case pg.encoding == format.DeltaBinaryPacked && (typ == format.Int32 || typ == format.Int64):
		need = 0
		if total, _, err := checkDeltas(pg.data, 64, pg.values); err != nil || total < n {
			return errShortPage
		}
		p.numbers, err = new(delta.BinaryPackedEncoding).DecodeInt64(p.numbers, pg.data)
		p.ints = p.numbers
	case pg.encoding == format.DeltaByteArray && l.Text, pg.encoding == format.DeltaLengthByteArray && isText:
		var total int
		if total, err = checkTexts(pg.data, pg.encoding, l.size, n, pg.values); err == nil {
			err = p.bits.memory.hold(&p.held, int64(total))
		}
		if err != nil {
			return err
		}
		if isText {
			return p.decodeTexts(p.buf[:0], pg.data, pg.encoding, n)
		}
		p.buf, err = new(delta.ByteArrayEncoding).DecodeFixedLenByteArray(p.buf[:0], pg.data, l.size)
		p.data = p.buf
	case pg.encoding == format.ByteStreamSplit && l.size > 0 && typ != format.Int96:
		whole := len(pg.data) / l.size * l.size
		p.buf, err = new(bytestreamsplit.Encoding).DecodeFixedLenByteArray(p.buf, pg.data[:whole], l.size)
		p.data = p.buf
	default:
		return fmt.Errorf("encoding %d is not supported", pg.encoding)
	}
	if err == nil && len(p.data) < need {
		err = errShortPage
	}
	return err
}

func (p *pageValues) decodeTexts(dst, src []byte, encoding format.Encoding, n int) (err error) {
	p.data, p.offsets, err = textEncodings[encoding].DecodeByteArray(dst, src, p.offsets)
	if encoding != format.Plain {
		p.buf = p.data
	}
	if err == nil && len(p.offsets) <= n {
		err = errShortPage
	}
	for i := 0; err == nil && i < n; i++ {
		if size := p.offsets[i+1] - p.offsets[i]; size > maxTextBytes {
			err = fmt.Errorf("text of %d bytes; at most %d are read", size, maxTextBytes)
		}
	}
	return err
}

// numbers decodes numbers of a few bits each, in runs of equal or packed numbers: levels, indexes into
// dictionaries and booleans. Most columns have one level, in several runs.
type numbers struct {
	list  []int32 // nil if all numbers are value
	value int32

	buf    []int32
	memory *memory
	held   int64 // bytes in the memory
}

func (h *numbers) at(i int) int32 {
	if h.list == nil {
		return h.value
	}
	return h.list[i]
}

// zeros counts the zeros in front of the n numbers from at on.
func (h *numbers) zeros(at, n int) int {
	if h.list == nil {
		if h.value == 0 {
			return n
		}
		return 0
	}
	for i, v := range h.list[at : at+n] {
		if v != 0 {
			return i
		}
	}
	return n
}

const (
	maxRun     = 1 << 31 // more than the values of any page
	maxPadding = 63 * 8  // most surplus numbers in the last run
)

// decode decodes n numbers of width bits. A width of 0 needs no data: all numbers are 0. It checks the
// runs first, because the library allocates as much as they claim.
func (h *numbers) decode(src []byte, width, n int) error {
	h.list = nil
	h.value = 0
	if width == 0 || n == 0 {
		return nil
	}
	size := 0
	same := true // all numbers are h.value
	for have := 0; have < n; {
		head, k := binary.Uvarint(src[size:])
		run := int(head >> 1)
		bytes := (width + 7) / 8
		left := len(src) - size - k
		switch isPacked := head&1 != 0; {
		case k <= 0 || width > 32 || head>>1 > maxRun || !isPacked && bytes > left:
			return errShortPage
		case isPacked: // groups of eight numbers
			run, bytes = 8*run, run*width
			same = same && run == 0
		case run > 0:
			var number [8]byte
			copy(number[:], src[size+k:size+k+bytes])
			value := binary.LittleEndian.Uint64(number[:])
			if value>>width != 0 {
				return fmt.Errorf("number %d of %d bits", value, width)
			}
			if have == 0 {
				h.value = int32(value)
			}
			same = same && h.value == int32(value)
		default:
			bytes = 0 // the library decodes no number
		}
		if have+run > n+maxPadding && !(same && have == 0) || bytes > left && have+8*left/width < n {
			return errShortPage
		}
		have += run
		size += k + bytes
	}
	if same {
		return nil
	}
	if missing := size - len(src); missing > 0 { // some writers omit the padding of the last run
		src = append(slices.Clip(src), make([]byte, missing)...)
	}
	if room := n + maxPadding; room > cap(h.buf) {
		const bytesPerNumber = 4
		if err := h.memory.hold(&h.held, int64(room)*bytesPerNumber); err != nil {
			return err
		}
		h.buf = make([]int32, 0, room)
	}
	list, err := (&rle.Encoding{BitWidth: width}).DecodeInt32(h.buf[:0], src[:size])
	if err == nil {
		h.list = list[:n:n]
	}
	return err
}

// decodeLevels decodes n levels and returns how many equal highest.
func (h *numbers) decodeLevels(src []byte, highest int32, n int) (full int, err error) {
	if err := h.decode(src, bits.Len32(uint32(highest)), n); err != nil {
		return 0, err
	}
	most := h.value
	for _, level := range h.list {
		if most = max(most, level); level == highest {
			full++
		}
	}
	if most > highest {
		return 0, errors.New("level above the column's maximum")
	}
	if h.list == nil && h.value == highest {
		full = n
	}
	return full, nil
}

// checkDeltas checks integers in DELTA_BINARY_PACKED encoding with at most width bits. It returns their number, which
// may be at most most, and the rest of src. The library allocates as much as the header claims and accepts any width.
func checkDeltas(src []byte, width byte, most int) (total int, rest []byte, err error) {
	var header [4]uint64 // block size, miniblocks per block, total, first value
	for i := range header {
		v, n := binary.Uvarint(src)
		if n <= 0 {
			return 0, nil, errShortPage
		}
		header[i] = v
		src = src[n:]
	}
	const maxBlock = 1 << 12 // writers use 128 or 256 values
	block := header[0]
	minis := header[1]
	if block == 0 || block > maxBlock || minis == 0 || block%minis != 0 || block/minis%8 != 0 ||
		header[2] > uint64(most) {
		return 0, nil, errShortPage
	}
	for left := int(header[2]) - 1; left > 0; {
		_, n := binary.Varint(src) // the smallest difference
		if n <= 0 || len(src)-n < int(minis) {
			return 0, nil, errShortPage
		}
		widths := src[n : n+int(minis)]
		src = src[n+int(minis):]
		for i := 0; i < len(widths) && left > 0; i++ {
			size := int(block/minis) / 8 * int(widths[i])
			if widths[i] > width || size > len(src) {
				return 0, nil, errShortPage
			}
			src = src[size:]
			left -= int(block / minis)
		}
	}
	return int(header[2]), src, nil
}

// checkTexts checks the lengths of texts in a delta encoding: at least n and at most most texts, each of
// size bytes, or of any size for 0. It returns the sum of the lengths, because the library allocates that.
func checkTexts(src []byte, encoding format.Encoding, size, n, most int) (total int, err error) {
	var lengths [2][]int32 // of the prefix shared with the previous text, and of the rest
	for i := range lengths {
		if i == 0 && encoding != format.DeltaByteArray {
			continue
		}
		_, rest, err := checkDeltas(src, 32, most)
		if err == nil {
			lengths[i], err = new(delta.BinaryPackedEncoding).DecodeInt32(nil, src[:len(src)-len(rest)])
		}
		if err != nil {
			return 0, err
		}
		src = rest
	}
	shared := lengths[0]
	own := lengths[1]
	if len(own) < n || encoding == format.DeltaByteArray && len(shared) != len(own) {
		return 0, errShortPage
	}
	left := len(src)
	last := 0
	for i, length := range own {
		same := 0
		if shared != nil {
			same = int(shared[i])
		}
		if length < 0 || int(length) > left || same < 0 || same > last {
			return 0, errShortPage
		}
		left -= int(length)
		last = same + int(length)
		if total += last; last > maxTextBytes || total > maxPageBytes || size > 0 && last != size {
			return 0, errShortPage
		}
	}
	return total, nil
}
