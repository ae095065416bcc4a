package parquet

import (
	"fmt"
	"slices"

	lib "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// pageValues are the values of a page or a dictionary, without nulls. They are good until the
// next page.
type pageValues struct {
	reader   lib.ValueReader
	read     [64]lib.Value
	have, at int // of read

	bits    numbers
	buf     []byte
	offsets []uint32 // of texts in buf, or in the page
	held    int64    // what the budget knows of buf
}

// next returns the next value. There are as many as decode was told.
func (p *pageValues) next() lib.Value {
	if p.at == p.have {
		p.at = 0
		p.have, _ = p.reader.ReadValues(p.read[:])
	}
	v := p.read[p.at]
	p.at++
	return v
}

// decode turns to the n values of a page that does not refer to a dictionary. What the
// library allocates and reads follows from the size of the page and has been checked.
func (p *pageValues) decode(l *leaf, pg page, n int) (err error) {
	p.have, p.at = 0, 0
	if n == 0 {
		return nil
	}
	typ, kind, encoding, data, in := l.typ, l.typ.Kind(), pg.encoding, pg.data, pg.data[:0]
	switch {
	case encoding == format.Plain && kind == lib.ByteArray:
		data = slices.Clip(data) // the lengths may lead behind it
	case encoding == format.Plain:
		if typ.EstimateSize(n) > len(data) {
			return errShortPage
		}
		data = data[:typ.EstimateSize(n)]
	case encoding == format.RLE && kind == lib.Boolean: // the library takes a run of ones for other bits
		const prefix = 4 // the length
		if len(data) < prefix {
			return errShortPage
		}
		if err := p.bits.decode(data[prefix:], 1, n); err != nil {
			return err
		}
		data = make([]byte, (n+7)/8)
		for i := range n {
			data[i/8] |= byte(p.bits.at(i)) << (i % 8)
		}
		encoding, in = format.Plain, data[:0]
	case encoding == format.DeltaBinaryPacked && (kind == lib.Int32 || kind == lib.Int64):
		total, _, err := checkDeltas(data, 64, pg.values)
		if err != nil || total < n {
			return errShortPage
		}
		typ, in = lib.Int64Type, p.buf[:0]
	case encoding == format.DeltaLengthByteArray && kind == lib.ByteArray, encoding == format.DeltaByteArray && l.Text:
		size := 0
		if kind == lib.FixedLenByteArray {
			size = typ.Length()
		}
		total, err := checkTexts(data, encoding, size, n, pg.values)
		if err != nil {
			return err
		}
		if err := p.bits.budget.hold(&p.held, int64(total)); err != nil {
			return err
		}
		in = p.buf[:0]
	case encoding == format.ByteStreamSplit && kind != lib.Boolean && kind != lib.Int96 && kind != lib.ByteArray:
		size := typ.EstimateSize(1)
		if data = data[:len(data)/size*size]; len(data) < n*size {
			return errShortPage
		}
		in = p.buf[:0]
	default:
		return fmt.Errorf("encoding %d is not supported", encoding)
	}
	values, err := typ.Decode(typ.NewValues(in, p.offsets), data, lib.LookupEncoding(encoding))
	if err != nil {
		return err
	}
	decoded, offsets := values.Data()
	if encoding != format.Plain {
		p.buf = decoded
	}
	if kind == lib.ByteArray {
		if p.offsets = offsets; len(offsets) <= n {
			return errShortPage
		}
		offsets = offsets[:n+1]
		values = typ.NewValues(decoded, offsets)
		for i := range offsets[1:] {
			if size := offsets[i+1] - offsets[i]; size > MaxTextBytes {
				return fmt.Errorf("text of %d bytes; at most %d are read", size, MaxTextBytes)
			}
		}
	}
	p.reader = typ.NewPage(0, n, values).Values()
	return nil
}
