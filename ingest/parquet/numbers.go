package parquet

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
)

// numbers are numbers of a few bits each, kept in runs of equal ones and runs of
// packed ones: levels, indexes into dictionaries and booleans.
type numbers struct {
	n     int
	list  []int32 // nil where all are value
	value int32

	buf    []int32
	padded []byte
	budget *budget
	held   int64 // what budget knows of
}

func (h *numbers) at(i int) int32 {
	if h.list == nil {
		return h.value
	}
	return h.list[i]
}

// maxPadding is how many numbers the last packed run may have too many.
const maxPadding = 63 * 8

// decode decodes up to n numbers of width bits. A width of 0 needs no data: all
// numbers are 0. The runs are walked over first, because the library allocates
// what they claim.
func (h *numbers) decode(src []byte, width, n int) error {
	h.n, h.list, h.value = 0, nil, 0
	switch {
	case width == 0:
		h.n = n
		return nil
	case width > 32:
		return errShortPage
	}
	total, end := 0, 0 // of the runs that are whole
	for total < n {
		head, size := binary.Uvarint(src[end:])
		if size <= 0 || head>>1 > maxRun || head == 0 {
			break
		}
		start := end + size
		isPacked, run := head&1 != 0, int(head>>1)
		if size = (width + 7) / 8; isPacked { // groups of eight numbers
			size = run * width
			run *= 8
		}
		if left := len(src) - start; size > left {
			// Some writers leave out the padding of the last run. A run that has it
			// takes its place.
			if run = left * 8 / width; !isPacked || run == 0 {
				break
			}
			groups := (run + 7) / 8
			size = groups * width
			h.padded = binary.AppendUvarint(append(h.padded[:0], src[:end]...), uint64(groups)<<1|1)
			src, start = append(h.padded, src[start:]...), len(h.padded)
			src = append(src, make([]byte, max(0, size-left))...)
			h.padded = src
		}
		if !isPacked {
			value := uint64(0)
			for i, b := range src[start : start+size] {
				value |= uint64(b) << (8 * i)
			}
			if value>>width != 0 {
				return fmt.Errorf("number %d of %d bits", value, width)
			}
			if end == 0 && run >= n {
				h.value, h.n = int32(value), n
				return nil
			}
		}
		if total += run; total > n+maxPadding {
			return errShortPage
		}
		end = start + size
	}
	const bytesPerNumber = 4
	if err := h.budget.hold(&h.held, int64(total)*bytesPerNumber); err != nil {
		return err
	}
	if cap(h.buf) < total {
		h.buf = make([]int32, 0, total)
	}
	var err error
	h.buf, err = (&rle.Encoding{BitWidth: width}).DecodeInt32(h.buf, src[:end])
	h.n = min(n, total, len(h.buf))
	h.list = h.buf[:h.n:h.n]
	return err
}

// maxRun is the longest run. Pages have fewer values.
const maxRun = 1 << 31

// check returns errLevel for levels above the highest.
func (h *numbers) check(highest int32) error {
	if highest&(highest+1) == 0 { // the highest that is as wide
		return nil
	}
	most := uint32(h.value)
	for _, level := range h.list {
		most = max(most, uint32(level))
	}
	if most > uint32(highest) {
		return errLevel
	}
	return nil
}

// maxDeltaBlock is the largest block of differences. Writers use 128 or 256
// values.
const maxDeltaBlock = 1 << 12

// decodeDeltas decodes integers that are kept as differences, packed in blocks
// of miniblocks that have a width each, and returns what follows them. There may
// be at most maxValues. The blocks are walked over first: the library allocates
// what the header claims and unpacks numbers of any width.
func decodeDeltas(dst []int64, src []byte, maxValues int) (numbers []int64, rest []byte, err error) {
	rest = src
	var header [4]uint64 // values in a block, miniblocks in it, values in all, first value
	for i := range header {
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			return nil, nil, errShortPage
		}
		header[i], rest = v, rest[n:]
	}
	block, minis, total := header[0], header[1], header[2]
	if block == 0 || block > maxDeltaBlock || minis == 0 || block%minis != 0 || block/minis%8 != 0 || total > uint64(maxValues) {
		return nil, nil, errShortPage
	}
	for left := int(total) - 1; left > 0; {
		_, n := binary.Varint(rest) // the smallest difference
		if n <= 0 || len(rest)-n < int(minis) {
			return nil, nil, errShortPage
		}
		widths := rest[n : n+int(minis)]
		rest = rest[n+int(minis):]
		for i := 0; i < len(widths) && left > 0; i++ {
			size := int(block/minis) / 8 * int(widths[i])
			if widths[i] > 64 || size > len(rest) {
				return nil, nil, errShortPage
			}
			rest = rest[size:]
			left -= int(block / minis)
		}
	}
	numbers, err = new(delta.BinaryPackedEncoding).DecodeInt64(dst[:0], src[:len(src)-len(rest)])
	if err == nil && len(numbers) != int(total) {
		err = errShortPage
	}
	return numbers, rest, err
}
