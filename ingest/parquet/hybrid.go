package parquet

import (
	"encoding/binary"
	"errors"
)

var errShortPage = errors.New("page ends early")

// hybrid reads numbers of a few bits each, in runs of equal ones and runs of
// packed ones. Levels, indexes into dictionaries and booleans are kept so. It
// reads as it goes: a run may be of any length.
type hybrid struct {
	buf   []byte // what follows the current run
	width int    // bits per number, up to 32

	run    int    // how many numbers the run has left
	value  uint32 // that of a run of equal numbers
	packed []byte // that of a run of packed ones, nil for equal ones
	bit    int    // the position in packed
}

// reset starts with buf. A width of 0 needs no data: all numbers are 0.
func (h *hybrid) reset(buf []byte, width int) { *h = hybrid{buf: buf, width: width} }

// next returns the next number.
func (h *hybrid) next() (uint32, error) {
	for h.run == 0 {
		if err := h.nextRun(); err != nil {
			return 0, err
		}
	}
	h.run--
	if h.packed == nil {
		return h.value, nil
	}
	v := unpack(h.packed, h.bit, h.width)
	h.bit += h.width
	return uint32(v), nil
}

// maxRun is the longest run. Pages have fewer values.
const maxRun = 1 << 31

func (h *hybrid) nextRun() error {
	if h.width == 0 && len(h.buf) == 0 {
		h.packed, h.value, h.run = nil, 0, maxRun
		return nil
	}
	head, n := binary.Uvarint(h.buf)
	if n <= 0 || head>>1 > maxRun {
		return errShortPage
	}
	h.buf = h.buf[n:]
	h.packed = nil
	if head&1 == 0 {
		size := (h.width + 7) / 8
		if size > len(h.buf) {
			return errShortPage
		}
		h.value = 0
		for i, b := range h.buf[:size] {
			h.value |= uint32(b) << (8 * i)
		}
		h.buf = h.buf[size:]
		h.run = int(head >> 1)
		return nil
	}
	groups := int(head >> 1) // of eight numbers, which take width bytes
	size := groups * h.width
	h.run = groups * 8
	if size > len(h.buf) {
		// Some writers leave out the padding of the last run.
		size = len(h.buf)
		h.run = size * 8 / max(1, h.width)
		if h.run == 0 {
			return errShortPage
		}
	}
	h.packed, h.bit = h.buf[:size:size], 0
	h.buf = h.buf[size:]
	if h.width == 0 {
		h.packed, h.value = nil, 0
	}
	return nil
}

// equal returns how many of the following numbers are known to be v, without
// looking at packed ones.
func (h *hybrid) equal(v uint32) int {
	if h.packed != nil || h.value != v {
		return 0
	}
	return h.run
}

// skip passes over n numbers of a run of equal ones.
func (h *hybrid) skip(n int) { h.run -= n }

// unpack returns the number of width bits, up to 64, at position bit of b. What
// lies behind the end of b is 0.
func unpack(b []byte, bit, width int) uint64 {
	b = b[bit/8:]
	shift := bit % 8
	if len(b) >= 8 {
		v := binary.LittleEndian.Uint64(b) >> shift
		if shift+width > 64 && len(b) > 8 {
			v |= uint64(b[8]) << (64 - shift)
		}
		return v & mask(width)
	}
	v := uint64(0)
	for i, c := range b {
		v |= uint64(c) << (8 * i)
	}
	return v >> shift & mask(width)
}

func mask(width int) uint64 { return 1<<width - 1 }
