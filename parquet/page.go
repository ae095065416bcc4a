package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"

	"github.com/optrace/optrace/internal/read/budget"
)

var errShortPage = errors.New("page ends early")

// page is a decompressed page of values. Its parts are valid until the next page.
type page struct {
	dictionary bool
	values     int // number of values, nulls included
	encoding   format.Encoding
	// rep and def are the levels of the values in data; empty levels are all 0.
	rep, def, data []byte
}

// pages reads the pages of a column chunk.
type pages struct {
	src      io.ReaderAt
	leaf     *leaf
	codec    format.CompressionCodec
	unpack   *decompressor
	memory   *memory
	pos, end int64 // offsets in the file
	rows     int64 // of the row group

	head []byte // page header
	body []byte // stored page
	data []byte // decompressed page
	held int64  // bytes in the memory
}

// next reads the next page of values or of the dictionary. It returns io.EOF at the end of the chunk.
func (p *pages) next() (page, error) {
	for p.pos < p.end {
		h, err := p.header()
		if err != nil {
			return page{}, err
		}
		var pg page
		var rep, def int32 // bytes of uncompressed levels in front
		switch v1, v2, d := &h.DataPageHeader.V, &h.DataPageHeaderV2.V, &h.DictionaryPageHeader.V; {
		case h.Type == format.DataPage && h.DataPageHeader.Valid:
			pg.values = int(v1.NumValues)
			pg.encoding = v1.Encoding
		case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
			pg.values = int(v2.NumValues)
			pg.encoding = v2.Encoding
			rep = v2.RepetitionLevelsByteLength
			def = v2.DefinitionLevelsByteLength
		case h.Type == format.DictionaryPage && h.DictionaryPageHeader.Valid:
			pg.values = int(d.NumValues)
			pg.encoding = d.Encoding
			pg.dictionary = true
		default:
			p.pos += max(0, min(int64(h.CompressedPageSize), p.end-p.pos)) // an index
			continue
		}
		if err := p.check(h, &pg, int64(rep), int64(def)); err != nil {
			return page{}, err
		}
		err = p.read(h, &pg, int(rep), int(def))
		return pg, err
	}
	return page{}, io.EOF
}

// header reads a page header and moves pos past it.
func (p *pages) header() (*format.PageHeader, error) {
	for size := int64(512); ; size *= 4 {
		size = min(size, p.end-p.pos)
		p.head = grow(p.head, int(size))
		if err := readAt(p.src, p.head, p.pos); err != nil {
			return nil, err
		}
		check, err := checkThrift(p.head)
		if err == errThriftShort && size < p.end-p.pos && size < maxHeaderBytes {
			continue
		}
		h := &format.PageHeader{}
		if err == nil {
			err = decodeThrift(p.head, h)
		}
		if err != nil {
			return nil, fmt.Errorf("page header: %w", err)
		}
		p.pos += int64(check.BytesRead())
		p.memory.read += int64(check.BytesRead())
		return h, nil
	}
}

// check rejects impossible sizes and pages that exceed the memory.
func (p *pages) check(h *format.PageHeader, pg *page, rep, def int64) error {
	compressed := int64(h.CompressedPageSize)
	uncompressed := int64(h.UncompressedPageSize)
	switch {
	case compressed < 0 || compressed > p.end-p.pos:
		return fmt.Errorf("page of %d bytes, the file has %d", compressed, p.end-p.pos)
	case uncompressed < 0 || uncompressed > maxPageBytes || compressed > maxPageBytes:
		return fmt.Errorf("page of %d bytes; at most %d are read", max(compressed, uncompressed), maxPageBytes)
	case pg.values < 0:
		return fmt.Errorf("page of %d values", pg.values)
	case int64(pg.values) > p.rows && int64(pg.values)/maxValuesPerByte > uncompressed:
		return fmt.Errorf("page of %d values in %d bytes", pg.values, uncompressed)
	case rep < 0 || def < 0 || rep+def > min(compressed, uncompressed):
		return errShortPage
	}
	held := compressed + 2*uncompressed // including decoded values, or offsets of texts with four bytes each
	switch pg.encoding {
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray, format.DeltaByteArray:
		const bytesPerDelta = 3 * 8 // lengths, shared prefixes, offsets
		held += int64(pg.values) * bytesPerDelta
	}
	return p.memory.hold(&p.held, held)
}

// read reads the page after its header. The page starts with rep and def bytes of levels.
func (p *pages) read(h *format.PageHeader, pg *page, rep, def int) (err error) {
	p.body = grow(p.body, int(h.CompressedPageSize))
	if err := readAt(p.src, p.body, p.pos); err != nil {
		return err
	}
	p.pos += int64(len(p.body))
	p.memory.read += int64(len(p.body))
	if h.CRC != 0 && crc32.ChecksumIEEE(p.body) != uint32(h.CRC) {
		return errors.New("page's checksum does not match")
	}
	pg.rep = p.body[:rep]
	pg.def = p.body[rep : rep+def]
	pg.data = p.body[rep+def:]
	if plain := h.DataPageHeaderV2.V.IsCompressed; p.codec != format.Uncompressed && !(plain.Valid && !plain.V) {
		p.data = grow(p.data, int(h.UncompressedPageSize)-rep-def)
		if len(p.data) > 0 { // an empty page may have no compressed data
			if err := p.unpack.decompress(p.codec, p.data, pg.data); err != nil {
				return err
			}
		}
		pg.data = p.data
	}
	if h.Type == format.DataPage {
		if pg.rep, err = cutLevels(pg, p.leaf.MaxRep, h.DataPageHeader.V.RepetitionLevelEncoding); err != nil {
			return err
		}
		pg.def, err = cutLevels(pg, p.leaf.MaxDef, h.DataPageHeader.V.DefinitionLevelEncoding)
	}
	return err
}

// cutLevels removes the levels from the start of a version 1 page and returns them. Their length precedes them.
func cutLevels(pg *page, highest int32, encoding format.Encoding) ([]byte, error) {
	const prefix = 4
	switch {
	case highest == 0:
		return nil, nil
	case encoding != format.RLE:
		return nil, fmt.Errorf("levels in encoding %d are not supported", encoding)
	case len(pg.data) < prefix || int(binary.LittleEndian.Uint32(pg.data)) > len(pg.data)-prefix:
		return nil, errShortPage
	}
	end := prefix + int(binary.LittleEndian.Uint32(pg.data))
	levels := pg.data[prefix:end]
	pg.data = pg.data[end:]
	return levels, nil
}

// grow returns a slice of length n, in buf if its capacity suffices. Spare capacity lets the library
// decode packed numbers in place.
func grow(buf []byte, n int) []byte {
	const padding = 32
	if cap(buf) < n+padding {
		return make([]byte, n, n+padding)
	}
	return buf[:n]
}

// memory is the memory that the columns of a file hold together.
type memory struct {
	account budget.Account
	held    int64
	read    int64 // bytes of pages, headers included, that are not counted yet
}

// hold changes the memory of a column from *held to n bytes.
func (m *memory) hold(held *int64, n int64) error {
	more := n - *held
	if m.held+more > maxHeldBytes {
		return fmt.Errorf("pages of more than %d bytes at a time", maxHeldBytes)
	}
	m.held += more
	*held = n
	return m.account.Set(m.held, 1)
}

// decompressor decompresses pages. It creates its decoders on first use.
type decompressor struct {
	zstd *zstd.Decoder
	gzip gzip.Reader
}

// decompress decompresses src into dst. It returns an error unless the result has the size of dst. Unlike
// the library's codecs it never allocates more.
func (d *decompressor) decompress(c format.CompressionCodec, dst, src []byte) (err error) {
	n := len(dst)
	switch c {
	case format.Snappy:
		if n, err = snappy.DecodedLen(src); err == nil && n == len(dst) {
			_, err = snappy.Decode(dst, src)
		}
	case format.Gzip:
		if err = d.gzip.Reset(bytes.NewReader(src)); err == nil {
			n, err = fill(dst, &d.gzip)
		}
	case format.Brotli:
		n, err = fill(dst, brotli.NewReader(bytes.NewReader(src)))
	case format.Zstd:
		if d.zstd == nil {
			if d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxMemory(maxPageBytes)); err != nil {
				return fmt.Errorf("opening zstd: %w", err)
			}
		}
		var out []byte
		out, err = d.zstd.DecodeAll(src, dst[:0])
		n = len(out)
	case format.Lz4Raw:
		n, err = lz4.UncompressBlock(src, dst)
	default:
		return fmt.Errorf("unsupported codec %d (%v)", c, c)
	}
	if err == nil && n != len(dst) {
		err = errors.New("page differs from its stated size")
	}
	return err
}

// fill reads src into dst and returns the number of bytes, up to one more than len(dst).
func fill(dst []byte, src io.Reader) (n int, err error) {
	if n, err = io.ReadFull(src, dst); err == nil {
		k, _ := io.ReadFull(src, make([]byte, 1))
		n += k
	}
	return n, err
}

// Limits of memory and disk space. A file states the sizes of its parts; the reader believes them up to these limits.
const (
	// maxFooterBytes limits the footer. At some kilobytes per row group it allows far more than a billion operations.
	maxFooterBytes = 128 << 20
	// maxPageBytes limits a decompressed page. Known writers stay below 100 MiB, most of them at 1 MiB.
	maxPageBytes = 128 << 20
	maxHeldBytes = 512 << 20 // limits the pages and dictionaries of all columns together
	// maxColumns limits the columns and groups of a schema, and maxDepth its nesting.
	maxColumns   = 1 << 16
	maxDepth     = 64
	maxRowGroups = 1 << 20  // limits the row groups of a file
	maxRowValues = 1 << 20  // limits the values of a row in a column
	maxTextBytes = 16 << 20 // limits a text
	// MaxSpoolBytes limits the copy of an input that does not support random access.
	MaxSpoolBytes = 16 << 30

	// Equal rows take no space, so a few bytes may claim any number of rows. maxRowsPerByte limits the
	// rows for each byte of the pages read. freeRows are allowed in a file of any size.
	maxRowsPerByte = 16
	freeRows       = 1 << 20

	// maxValuesPerByte limits the values for each byte of a page with more values than rows. Different
	// levels take at least one bit each.
	maxValuesPerByte = 64
	// maxHeaderBytes limits a page header. It may hold the smallest and the largest value.
	maxHeaderBytes = 1 << 20
)
