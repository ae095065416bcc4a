package parquet

import "encoding/binary"

// deltas reads integers that are kept as differences, packed in blocks of
// miniblocks that have a width each.
type deltas struct {
	buf  []byte // what follows the current miniblock
	left int    // how many values are to come
	last int64  // the value before the next

	perMini int    // values in a miniblock
	minis   int    // miniblocks in a block
	widths  []byte // those of the block's miniblocks that are to come
	min     int64  // the block's smallest difference

	packed []byte // the current miniblock
	width  int
	bit    int
	inMini int // how many values the miniblock has left
	first  bool
}

// maxBlock is the largest block. Writers use 128 values.
const maxBlock = 1 << 16

// reset starts with buf, whose values are to be at most maxValues.
func (d *deltas) reset(buf []byte, maxValues int) error {
	*d = deltas{buf: buf, first: true}
	block, minis, total := d.uvarint(), d.uvarint(), d.uvarint()
	u, n := binary.Uvarint(d.buf)
	if n <= 0 || block == 0 || block > maxBlock || minis == 0 || block%minis != 0 || block/minis%8 != 0 || total > uint64(maxValues) {
		return errShortPage
	}
	d.buf = d.buf[n:]
	d.last = zigzag(u)
	d.minis, d.perMini, d.left = int(minis), int(block/minis), int(total)
	return nil
}

// uvarint reads an unsigned number; 0 where there is none.
func (d *deltas) uvarint() uint64 {
	v, n := binary.Uvarint(d.buf)
	if n <= 0 {
		return 0
	}
	d.buf = d.buf[n:]
	return v
}

// next returns the next value. Sums wrap around, as the format says.
func (d *deltas) next() (int64, error) {
	if d.left == 0 {
		return 0, errShortPage
	}
	d.left--
	if d.first {
		d.first = false
		return d.last, nil
	}
	if d.inMini == 0 {
		if err := d.nextMini(); err != nil {
			return 0, err
		}
	}
	d.inMini--
	d.last += d.min + int64(unpack(d.packed, d.bit, d.width))
	d.bit += d.width
	return d.last, nil
}

func (d *deltas) nextMini() error {
	if len(d.widths) == 0 {
		u, n := binary.Uvarint(d.buf)
		if n <= 0 || d.minis > len(d.buf)-n {
			return errShortPage
		}
		d.min = zigzag(u)
		d.widths = d.buf[n : n+d.minis]
		d.buf = d.buf[n+d.minis:]
	}
	d.width = int(d.widths[0])
	d.widths = d.widths[1:]
	size := d.perMini / 8 * d.width
	if d.width > 64 || size > len(d.buf) {
		return errShortPage
	}
	d.packed, d.bit, d.inMini = d.buf[:size:size], 0, d.perMini
	d.buf = d.buf[size:]
	return nil
}

// rest returns what follows the values, without changing d.
func (d *deltas) rest() ([]byte, error) {
	ahead := *d
	if ahead.first && ahead.left > 0 {
		ahead.left--
	}
	for ahead.left -= min(ahead.left, ahead.inMini); ahead.left > 0; ahead.left -= min(ahead.left, ahead.perMini) {
		if err := ahead.nextMini(); err != nil {
			return nil, err
		}
	}
	return ahead.buf, nil
}
