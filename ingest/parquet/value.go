package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// value is a value of a column: an integer, a number or bytes, as the column's
// physical type says.
type value struct {
	i int64
	f float64
	b []byte
	// text is b as text, once that is known: dictionaries keep it.
	text  string
	state textState
}

// textState tells what is known of a value as text.
type textState uint8

const (
	textUnknown textState = iota
	textValid
	textInvalid // it was not UTF-8
)

// decoder reads the values of a page one by one.
type decoder struct {
	leaf     *leaf
	encoding int64
	left     int // how many values there may still be, at most
	data     []byte

	indexes hybrid // into the dictionary; also booleans
	numbers deltas // integers; of texts, the lengths
	shared  deltas // how many bytes texts share with the one before
	split   int    // how many values are split into streams of bytes
	next    int    // the next of them

	val  value
	last []byte // the text before, where texts share bytes
}

// reset turns to the values of a page.
func (d *decoder) reset(pg page, dictionary []value) error {
	d.encoding, d.left, d.data = pg.encoding, pg.values, pg.data
	switch {
	case pg.encoding == encodingPlain:
		if d.leaf.typ == physBoolean {
			d.indexes = hybrid{packed: pg.data, width: 1, run: 8 * len(pg.data)}
		}
		return nil
	case pg.encoding == encodingDictionary || pg.encoding == encodingPlainDictionary:
		return d.resetIndexes(dictionary)
	case pg.encoding == encodingRLE && d.leaf.typ == physBoolean:
		return d.resetBooleans()
	case pg.encoding == encodingDelta && (d.leaf.typ == physInt32 || d.leaf.typ == physInt64):
		return d.numbers.reset(d.data, d.left)
	case pg.encoding == encodingDeltaLength && d.leaf.typ == physBytes:
		return d.resetLengths()
	case pg.encoding == encodingDeltaText && d.leaf.isText():
		return d.resetShared()
	case pg.encoding == encodingSplit && d.width() > 0 && d.leaf.typ != physInt96:
		d.split, d.next = len(d.data)/d.width(), 0
		return nil
	}
	return fmt.Errorf("encoding %d is not supported", pg.encoding)
}

func (d *decoder) resetIndexes(dictionary []value) error {
	d.encoding = encodingDictionary
	if dictionary == nil {
		return errors.New("page refers to a dictionary that is missing")
	}
	if len(d.data) == 0 { // nothing but nulls
		d.indexes = hybrid{}
		return nil
	}
	const maxIndexBits = 32
	if d.data[0] > maxIndexBits {
		return errShortPage
	}
	d.indexes.reset(d.data[1:], int(d.data[0]))
	return nil
}

func (d *decoder) resetBooleans() error {
	const prefix = 4 // the length
	if len(d.data) < prefix {
		return errShortPage
	}
	d.indexes.reset(d.data[prefix:], 1)
	return nil
}

func (d *decoder) resetLengths() error {
	if err := d.numbers.reset(d.data, d.left); err != nil {
		return err
	}
	var err error
	d.data, err = d.numbers.rest()
	return err
}

func (d *decoder) resetShared() error {
	if err := d.shared.reset(d.data, d.left); err != nil {
		return err
	}
	var err error
	if d.data, err = d.shared.rest(); err != nil {
		return err
	}
	d.last = d.last[:0]
	return d.resetLengths()
}

// width is the size of a value of fixed size, else 0.
func (d *decoder) width() int {
	switch d.leaf.typ {
	case physInt32, physFloat:
		return 4
	case physInt64, physDouble:
		return 8
	case physInt96:
		return 12
	case physFixed:
		return d.leaf.size
	}
	return 0
}

// read returns the next value, which is valid until the next call, or page.
func (d *decoder) read(dictionary []value) (*value, error) {
	if d.left == 0 {
		return nil, errShortPage
	}
	d.left--
	v := &d.val
	v.state = textUnknown
	switch d.encoding {
	case encodingDictionary:
		i, err := d.indexes.next()
		if err != nil {
			return nil, err
		}
		if int(i) >= len(dictionary) {
			return nil, fmt.Errorf("index %d in a dictionary of %d values", i, len(dictionary))
		}
		return &dictionary[i], nil
	case encodingRLE:
		b, err := d.indexes.next()
		v.i = int64(b)
		return v, err
	case encodingDelta:
		n, err := d.numbers.next()
		if v.i = n; d.leaf.typ == physInt32 {
			v.i = int64(int32(n))
		}
		return v, err
	case encodingDeltaLength, encodingDeltaText:
		return v, d.readDelta(v)
	case encodingSplit:
		return v, d.readSplit(v)
	}
	return v, d.readPlain(v)
}

func (d *decoder) readPlain(v *value) error {
	n := d.width()
	switch d.leaf.typ {
	case physBoolean:
		if d.indexes.run == 0 {
			return errShortPage
		}
		b, err := d.indexes.next()
		v.i = int64(b)
		return err
	case physBytes:
		const prefix = 4 // the length
		if len(d.data) < prefix {
			return errShortPage
		}
		size := binary.LittleEndian.Uint32(d.data)
		if size > MaxTextBytes {
			return fmt.Errorf("text of %d bytes; at most %d are read", size, MaxTextBytes)
		}
		d.data = d.data[prefix:]
		n = int(size)
	}
	if n > len(d.data) {
		return errShortPage
	}
	v.set(d.leaf.typ, d.data[:n])
	d.data = d.data[n:]
	return nil
}

// readDelta reads a text of which only the length is known, and maybe how much
// it has in common with the one before.
func (d *decoder) readDelta(v *value) error {
	n, err := d.numbers.next()
	if err != nil {
		return err
	}
	if n < 0 || n > int64(len(d.data)) || n > MaxTextBytes {
		return errShortPage
	}
	own := d.data[:n]
	d.data = d.data[n:]
	if d.encoding == encodingDeltaLength {
		v.b = own
		return nil
	}
	same, err := d.shared.next()
	if err != nil {
		return err
	}
	if same < 0 || same > int64(len(d.last)) || same+n > MaxTextBytes {
		return errShortPage
	}
	d.last = append(d.last[:same], own...)
	v.b = d.last
	if d.leaf.typ == physFixed && len(v.b) != d.leaf.size {
		return errShortPage
	}
	return nil
}

// readSplit gathers the bytes of a value, each of which lies in a stream of its
// own.
func (d *decoder) readSplit(v *value) error {
	if d.next >= d.split {
		return errShortPage
	}
	d.last = d.last[:0]
	for at := d.next; at < d.split*d.width(); at += d.split {
		d.last = append(d.last, d.data[at])
	}
	d.next++
	v.set(d.leaf.typ, d.last)
	return nil
}

// set takes the bytes of a value, which are as many as its type has.
func (v *value) set(typ physical, b []byte) {
	switch typ {
	case physInt32:
		v.i = int64(int32(binary.LittleEndian.Uint32(b)))
	case physInt64:
		v.i = int64(binary.LittleEndian.Uint64(b))
	case physInt96:
		v.i = int96(b)
	case physFloat:
		v.f = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case physDouble:
		v.f = math.Float64frombits(binary.LittleEndian.Uint64(b))
	default:
		v.b = b
	}
}

// int96 returns the Unix time in nanoseconds of a timestamp that is kept as
// nanoseconds of the day and Julian day. It wraps around outside the years 1678
// to 2262.
func int96(b []byte) int64 {
	const unixEpochDay, nanosPerDay = 2_440_588, 86_400_000_000_000
	day := int64(int32(binary.LittleEndian.Uint32(b[8:])))
	return (day-unixEpochDay)*nanosPerDay + int64(binary.LittleEndian.Uint64(b))
}

// bytesPerValue is what a value of a dictionary takes, besides its bytes.
const bytesPerValue = 80

// readDictionary reads the values of a dictionary, which is a page in plain
// encoding. Their bytes are copied.
func readDictionary(l *leaf, pg page) ([]value, error) {
	if pg.encoding != encodingPlain && pg.encoding != encodingPlainDictionary {
		return nil, fmt.Errorf("dictionary in encoding %d is not supported", pg.encoding)
	}
	pg.encoding = encodingPlain
	pg.data = append([]byte(nil), pg.data...)
	d := decoder{leaf: l}
	if err := d.reset(pg, nil); err != nil {
		return nil, err
	}
	dst := make([]value, 0, pg.values)
	for range pg.values {
		v, err := d.read(nil)
		if err != nil {
			return nil, err
		}
		dst = append(dst, *v)
	}
	return dst, nil
}
