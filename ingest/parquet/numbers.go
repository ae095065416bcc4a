package parquet

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/bitpack"
	"github.com/parquet-go/parquet-go/encoding/delta"
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
// numbers are 0.
func (h *numbers) decode(src []byte, width, n int) error {
	h.n, h.list, h.value = 0, nil, 0
	switch {
	case width == 0:
		h.n = n
		return nil
	case width > 32:
		return errShortPage
	}
	list := h.buf[:0]
	for len(list) < n {
		head, size := binary.Uvarint(src)
		if size <= 0 || head>>1 > maxRun || head == 0 {
			break
		}
		src = src[size:]
		isPacked, run, kept := head&1 != 0, int(head>>1), int(head>>1)
		if size = (width + 7) / 8; isPacked { // groups of eight numbers
			size = run * width
			run *= 8
			kept = run
		}
		if left := len(src); size > left {
			// Some writers leave out the padding of the last run.
			if kept = left * 8 / width; !isPacked || kept == 0 {
				break
			}
			run, size = (kept+7)/8*8, left
		}
		at := len(list)
		value := uint32(0)
		if !isPacked {
			for i, b := range src[:size] {
				value |= uint32(b) << (8 * i)
			}
			if uint64(value)>>width != 0 {
				return fmt.Errorf("number %d of %d bits", value, width)
			}
			if at == 0 && run >= n {
				h.value, h.n = int32(value), n
				return nil
			}
		}
		if at+run > n+maxPadding {
			return errShortPage
		}
		if err := h.grow(&list, at+run, n+maxPadding); err != nil {
			return err
		}
		if isPacked {
			h.unpack(list[at:], src[:size], width)
		} else {
			setAll(list[at:], int32(value))
		}
		list, src = list[:at+kept], src[size:]
	}
	h.n = min(n, len(list))
	h.buf, h.list = list, list[:h.n:h.n]
	return nil
}

// grow gives a list the length n, as far as the budget allows, and room for more where it
// is to have most in the end.
func (h *numbers) grow(list *[]int32, n, most int) error {
	const bytesPerNumber, usual = 4, 1 << 14
	if n > cap(*list) {
		size := max(n, min(most, max(usual, 2*cap(*list))))
		if err := h.budget.hold(&h.held, int64(size)*bytesPerNumber); err != nil {
			return err
		}
		*list = append(make([]int32, 0, size), *list...)
	}
	*list = (*list)[:n]
	return nil
}

// unpack unpacks numbers of width bits. Those of which src ends early have no certain value.
// The library reads beyond the end of src.
func (h *numbers) unpack(dst []int32, src []byte, width int) {
	size := bitpack.ByteCount(uint(len(dst)*width)) + bitpack.PaddingInt32
	if cap(src) < size {
		h.padded = append(append(h.padded[:0], src...), make([]byte, size-len(src))...)
		src = h.padded
	}
	bitpack.Unpack(dst, src[:size], uint(width))
}

func setAll[T any](list []T, value T) {
	for i := range list {
		list[i] = value
	}
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
