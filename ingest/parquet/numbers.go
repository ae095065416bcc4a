package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	lib "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
)

// numbers are numbers of a few bits each, kept in runs of equal ones and runs of
// packed ones: levels, indexes into dictionaries and booleans.
type numbers struct {
	n     int
	list  []int32 // nil where all are value
	value int32

	buf    []int32
	budget *budget
	held   int64 // what budget knows of
}

func (h *numbers) at(i int) int32 {
	if h.list == nil {
		return h.value
	}
	return h.list[i]
}

const (
	// maxPadding is how many numbers the last run may have too many.
	maxPadding = 63 * 8
	// maxRun is the longest run. Pages have fewer values.
	maxRun = 1 << 31
)

// decode decodes n numbers of width bits. A width of 0 needs no data: all numbers are 0.
// The runs are walked over first: the library allocates what they claim.
func (h *numbers) decode(src []byte, width, n int) error {
	h.n, h.list, h.value = n, nil, 0
	if width == 0 || n == 0 {
		return nil
	}
	if width > 32 {
		return errShortPage
	}
	size := 0
	for have := 0; have < n; {
		head, k := binary.Uvarint(src[size:])
		if k <= 0 || head>>1 > maxRun {
			return errShortPage
		}
		size += k
		isPacked, run, bytes := head&1 != 0, int(head>>1), (width+7)/8
		switch {
		case run == 0:
			continue
		case isPacked: // groups of eight numbers
			run, bytes = 8*run, run*width
		case bytes > len(src)-size:
			return errShortPage
		default:
			var number [8]byte
			copy(number[:], src[size:size+bytes])
			value := binary.LittleEndian.Uint64(number[:])
			if value>>width != 0 {
				return fmt.Errorf("number %d of %d bits", value, width)
			}
			if have == 0 && run >= n {
				h.value = int32(value)
				return nil
			}
		}
		left := len(src) - size
		if have+run > n+maxPadding || bytes > left && have+8*left/width < n {
			return errShortPage
		}
		have += run
		size += bytes
	}
	if missing := size - len(src); missing > 0 { // some writers leave out the padding of the last run
		src = append(slices.Clip(src), make([]byte, missing)...)
	}
	if room := n + maxPadding; room > cap(h.buf) {
		const bytesPerNumber = 4
		if err := h.budget.hold(&h.held, int64(room)*bytesPerNumber); err != nil {
			return err
		}
		h.buf = make([]int32, 0, room)
	}
	list, err := (&rle.Encoding{BitWidth: width}).DecodeInt32(h.buf[:0], src[:size])
	if err != nil {
		return err
	}
	h.list = list[:n:n]
	return nil
}

// decodeLevels decodes n levels and returns how many of them are the highest.
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
	switch {
	case most > highest:
		err = errors.New("level that the column does not have")
	case h.list == nil && h.value == highest:
		full = n
	}
	return full, err
}

// maxDeltaBlock is the largest block of differences. Writers use 128 or 256 values.
const maxDeltaBlock = 1 << 12

// checkDeltas walks over integers of width bits that are kept as differences, packed in
// blocks of miniblocks that have a width each. It returns how many there are, most at
// most, and what follows them. The library allocates what the header claims and unpacks
// numbers of any width.
func checkDeltas(src []byte, width byte, most int) (n int, rest []byte, err error) {
	var header [4]uint64 // values in a block, miniblocks in it, values in all, first value
	for i := range header {
		v, n := binary.Uvarint(src)
		if n <= 0 {
			return 0, nil, errShortPage
		}
		header[i], src = v, src[n:]
	}
	block, minis, total := header[0], header[1], header[2]
	if block == 0 || block > maxDeltaBlock || minis == 0 || block%minis != 0 || block/minis%8 != 0 || total > uint64(most) {
		return 0, nil, errShortPage
	}
	for left := int(total) - 1; left > 0; {
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
	return int(total), src, nil
}

// checkTexts checks the lengths of at least n texts, most at most, that are kept as
// differences, and returns what they add up to. size is that of each, 0 for any. The
// library allocates what the lengths add up to.
func checkTexts(src []byte, encoding format.Encoding, size, n, most int) (total int, err error) {
	var shared []int32 // with the text before
	if encoding == format.DeltaByteArray {
		if shared, src, err = lengths(src, most); err != nil {
			return 0, err
		}
	}
	own, src, err := lengths(src, most)
	if err != nil {
		return 0, err
	}
	if len(own) < n || encoding == format.DeltaByteArray && len(shared) != len(own) {
		return 0, errShortPage
	}
	left, last := len(src), 0
	for i, length := range own {
		text := int(length)
		if shared != nil {
			if shared[i] < 0 || int(shared[i]) > last {
				return 0, errShortPage
			}
			text += int(shared[i])
		}
		left -= int(length)
		total += text
		if last = text; length < 0 || left < 0 || text > MaxTextBytes || total > MaxPageBytes || size > 0 && text != size {
			return 0, errShortPage
		}
	}
	return total, nil
}

// lengths decodes up to most lengths and returns what follows them.
func lengths(src []byte, most int) (list []int32, rest []byte, err error) {
	if _, rest, err = checkDeltas(src, 32, most); err != nil {
		return nil, nil, err
	}
	list, err = lib.DeltaBinaryPacked.DecodeInt32([]int32{}, src[:len(src)-len(rest)])
	return list, rest, err
}
