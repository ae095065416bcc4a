package parquet

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/format"
)

// value is a value of a column: an integer, a number or bytes, as the physical
// type of the column says.
type value struct {
	i int64
	f float64
	b []byte
}

// values are the values of a page or a dictionary, which are good until the next
// page.
type values struct {
	leaf *leaf
	n    int
	// One of these holds them: bytes for values of fixed size, bits, integers,
	// texts.
	data  []byte
	bits  numbers
	ints  []int64
	texts [][]byte
	kind  valuesKind
	err   error // why there are no more than n

	shared []int64
	text   []byte
}

type valuesKind uint8

const (
	fixedValues valuesKind = iota
	plainBits
	runsOfBits
	integers
	texts
)

// at returns the i-th value.
func (v *values) at(i int) value {
	switch v.kind {
	case plainBits:
		return value{i: int64(v.data[i/8] >> (i % 8) & 1)}
	case runsOfBits:
		return value{i: int64(v.bits.at(i))}
	case integers:
		if v.leaf.typ == format.Int32 {
			return value{i: int64(int32(v.ints[i]))}
		}
		return value{i: v.ints[i]}
	case texts:
		return value{b: v.texts[i]}
	}
	b := v.data[i*v.leaf.size : (i+1)*v.leaf.size]
	switch v.leaf.typ {
	case format.Int32:
		return value{i: int64(int32(binary.LittleEndian.Uint32(b)))}
	case format.Int64:
		return value{i: int64(binary.LittleEndian.Uint64(b))}
	case format.Int96:
		return value{i: int96(b)}
	case format.Float:
		return value{f: float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))}
	case format.Double:
		return value{f: math.Float64frombits(binary.LittleEndian.Uint64(b))}
	}
	return value{b: b}
}

// int96 returns the Unix time in nanoseconds of a timestamp that is kept as
// nanoseconds of the day and Julian day. It wraps around outside the years 1678
// to 2262.
func int96(b []byte) int64 {
	const unixEpochDay, nanosPerDay = 2_440_588, 86_400_000_000_000
	day := int64(int32(binary.LittleEndian.Uint32(b[8:])))
	return (day-unixEpochDay)*nanosPerDay + int64(binary.LittleEndian.Uint64(b))
}

// decode decodes the values of a page that does not refer to a dictionary, of
// which there are at most pg.values.
func (v *values) decode(pg page) (err error) {
	typ, data := v.leaf.typ, pg.data
	isInt := typ == format.Int32 || typ == format.Int64
	v.err = errShortPage
	switch {
	case pg.encoding == format.Plain && typ == format.Boolean:
		v.kind, v.data, v.n = plainBits, data, 8*len(data)
	case pg.encoding == format.RLE && typ == format.Boolean:
		const prefix = 4 // the length
		if len(data) < prefix {
			return errShortPage
		}
		err = v.bits.decode(data[prefix:], 1, pg.values)
		v.kind, v.n = runsOfBits, v.bits.n
	case pg.encoding == format.Plain && typ == format.ByteArray:
		v.cutTexts(data, pg.values)
	case pg.encoding == format.DeltaLengthByteArray && typ == format.ByteArray:
		v.ints, data, err = decodeDeltas(v.ints, data, pg.values)
		v.joinTexts(data, nil)
	case pg.encoding == format.DeltaByteArray && v.leaf.isText():
		if v.shared, data, err = decodeDeltas(v.shared, data, pg.values); err != nil {
			return err
		}
		v.ints, data, err = decodeDeltas(v.ints, data, len(v.shared))
		v.joinTexts(data, v.shared)
	case pg.encoding == format.DeltaBinaryPacked && isInt:
		v.ints, _, err = decodeDeltas(v.ints, data, pg.values)
		v.kind, v.n = integers, len(v.ints)
	case pg.encoding == format.ByteStreamSplit && v.leaf.size > 0 && typ != format.Int96:
		whole := len(data) / v.leaf.size * v.leaf.size
		v.text, err = new(bytestreamsplit.Encoding).DecodeFixedLenByteArray(v.text, data[:whole], v.leaf.size)
		v.kind, v.data, v.n = fixedValues, v.text, whole/v.leaf.size
	case pg.encoding == format.Plain:
		v.kind, v.data, v.n = fixedValues, data, pg.values
		if v.leaf.size > 0 {
			v.n = len(data) / v.leaf.size
		}
	default:
		return fmt.Errorf("encoding %d is not supported", pg.encoding)
	}
	v.n = min(v.n, pg.values)
	return err
}

// cutTexts finds the texts that have their lengths in front of them.
func (v *values) cutTexts(data []byte, n int) {
	const prefix = 4
	v.kind, v.texts = texts, v.texts[:0]
	for len(v.texts) < n && len(data) >= prefix {
		size := binary.LittleEndian.Uint32(data)
		if size > MaxTextBytes {
			v.err = fmt.Errorf("text of %d bytes; at most %d are read", size, MaxTextBytes)
			break
		}
		if data = data[prefix:]; int(size) > len(data) {
			break
		}
		v.texts = append(v.texts, data[:size])
		data = data[size:]
	}
	v.n = len(v.texts)
}

// joinTexts finds the texts whose lengths are v.ints. shared, if not nil, tells
// how much each has in common with the one before.
func (v *values) joinTexts(data []byte, shared []int64) {
	v.kind, v.texts, v.text = texts, v.texts[:0], v.text[:0]
	var last []byte
	for i, size := range v.ints {
		if size < 0 || size > int64(len(data)) || size > MaxTextBytes {
			break
		}
		own := data[:size]
		data = data[size:]
		if shared != nil {
			same := shared[i]
			if same < 0 || same > int64(len(last)) || same+size > MaxTextBytes || int64(len(v.text))+same+size > MaxPageBytes {
				break
			}
			start := len(v.text)
			v.text = append(append(v.text, last[:same]...), own...)
			last = v.text[start:]
			if own = last; v.leaf.typ == format.FixedLenByteArray && len(own) != v.leaf.size {
				break
			}
		}
		v.texts = append(v.texts, own)
	}
	v.n = len(v.texts)
}
