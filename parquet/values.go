package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/encoding/bytestreamsplit"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/plain"
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
	held    int64 // bytes of buf in the budget
}

// next returns the next value. The caller knows their number from decode. A 96-bit timestamp, nanoseconds of the day
// and a Julian day, becomes Unix time in nanoseconds. It wraps around outside the years 1678 to 2262.
func (p *pageValues) next(l *leaf) rows.Value {
	i := p.at
	to := rows.Value{Kind: l.kind}
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
	return to
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
			err = p.bits.budget.hold(&p.held, int64(total))
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
