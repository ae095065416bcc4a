package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// The types of pages, and the encodings of values.
const (
	pageData       = 0
	pageDictionary = 2
	pageDataV2     = 3

	encodingPlain           = 0
	encodingPlainDictionary = 2
	encodingRLE             = 3
	encodingDelta           = 5
	encodingDeltaLength     = 6
	encodingDeltaText       = 7
	encodingDictionary      = 8
	encodingSplit           = 9
)

// page is a page of values, without compression. Its parts are valid until the
// next page.
type page struct {
	dictionary bool
	values     int // how many, nulls included
	encoding   int64
	// rep and def are the levels of the values in data, empty where all are 0.
	rep, def, data []byte
}

// pageHeader is what stands in front of a page.
type pageHeader struct {
	typ                      int64
	compressed, uncompressed int64
	crc                      uint32
	hasCRC                   bool
	values                   int64
	encoding                 int64
	repEncoding, defEncoding int64
	repSize, defSize         int64 // in pages of version 2
	plain                    bool  // not compressed whatever the column says
}

// readPageHeader reads a PageHeader.
func readPageHeader(r *thriftReader) pageHeader {
	h := pageHeader{repEncoding: encodingRLE, defEncoding: encodingRLE}
	for f := range r.fields() {
		switch {
		case f.id == 1:
			h.typ = r.int(f)
		case f.id == 2:
			h.uncompressed = r.int(f)
		case f.id == 3:
			h.compressed = r.int(f)
		case f.id == 4:
			h.crc, h.hasCRC = uint32(r.int(f)), true
		case f.typ != thriftStruct:
		case f.id == 5:
			h.readData(r)
		case f.id == 7:
			h.readDictionary(r)
		case f.id == 8:
			h.readDataV2(r)
		}
	}
	return h
}

func (h *pageHeader) readData(r *thriftReader) {
	for f := range r.fields() {
		switch f.id {
		case 1:
			h.values = r.int(f)
		case 2:
			h.encoding = r.int(f)
		case 3:
			h.defEncoding = r.int(f)
		case 4:
			h.repEncoding = r.int(f)
		}
	}
}

func (h *pageHeader) readDictionary(r *thriftReader) {
	for f := range r.fields() {
		switch f.id {
		case 1:
			h.values = r.int(f)
		case 2:
			h.encoding = r.int(f)
		}
	}
}

func (h *pageHeader) readDataV2(r *thriftReader) {
	for f := range r.fields() {
		switch f.id {
		case 1:
			h.values = r.int(f)
		case 4:
			h.encoding = r.int(f)
		case 5:
			h.defSize = r.int(f)
		case 6:
			h.repSize = r.int(f)
		case 7:
			h.plain = f.typ == thriftFalse
		}
	}
}

// pages reads the pages of a column chunk.
type pages struct {
	src      io.ReaderAt
	leaf     *leaf
	codec    codec
	unpack   *decompressor
	budget   *budget
	pos, end int64 // in the file

	head []byte // a page's header
	body []byte // a page as it is stored
	data []byte // and decompressed
	held int64  // what budget knows of
}

// start turns to a chunk.
func (p *pages) start(c chunk) {
	p.codec = c.codec
	p.pos, p.end = c.offset, c.offset+c.size
}

// next reads the next page that holds values or the dictionary, io.EOF at the
// end of the chunk.
func (p *pages) next() (page, error) {
	for {
		if p.pos >= p.end {
			return page{}, io.EOF
		}
		h, err := p.header()
		if err != nil {
			return page{}, err
		}
		switch h.typ {
		case pageData, pageDataV2, pageDictionary:
			return p.read(h)
		}
		p.pos += h.compressed // an index
	}
}

// header reads a page's header and stands behind it.
func (p *pages) header() (pageHeader, error) {
	for size := int64(512); ; size *= 4 {
		size = min(size, p.end-p.pos)
		p.head = grow(p.head, size)
		if err := readAt(p.src, p.head, p.pos); err != nil {
			return pageHeader{}, err
		}
		r := thriftReader{buf: p.head}
		h := readPageHeader(&r)
		if errors.Is(r.err, errThriftShort) && size < p.end-p.pos && size < maxHeaderBytes {
			continue
		}
		if r.err != nil {
			return pageHeader{}, fmt.Errorf("page header: %w", r.err)
		}
		p.pos += int64(r.pos)
		return h, p.check(h)
	}
}

// check refuses sizes that cannot be true.
func (p *pages) check(h pageHeader) error {
	switch {
	case h.compressed < 0 || h.compressed > p.end-p.pos:
		return fmt.Errorf("page of %d bytes, %d of which are there", h.compressed, p.end-p.pos)
	case h.uncompressed < 0 || h.uncompressed > MaxPageBytes || h.compressed > MaxPageBytes:
		return fmt.Errorf("page of %d bytes; at most %d are read", max(h.compressed, h.uncompressed), MaxPageBytes)
	case h.values < 0:
		return fmt.Errorf("page of %d values", h.values)
	case h.repSize < 0 || h.defSize < 0 || h.repSize > h.compressed || h.defSize > h.compressed-h.repSize ||
		h.repSize+h.defSize > h.uncompressed:
		return errShortPage
	}
	return nil
}

// read reads the page behind its header.
func (p *pages) read(h pageHeader) (page, error) {
	held := h.compressed + h.uncompressed
	if err := p.budget.add(held - p.held); err != nil {
		return page{}, err
	}
	p.held = held
	p.body = grow(p.body, h.compressed)
	if err := readAt(p.src, p.body, p.pos); err != nil {
		return page{}, err
	}
	p.pos += h.compressed
	if h.hasCRC && crc32.ChecksumIEEE(p.body) != h.crc {
		return page{}, errors.New("page's checksum does not match")
	}
	pg := page{dictionary: h.typ == pageDictionary, values: int(h.values), encoding: h.encoding}
	levels := h.repSize + h.defSize
	c := p.codec
	if h.plain {
		c = codecNone
	}
	if c == codecNone {
		pg.data = p.body[levels:]
	} else {
		p.data = grow(p.data, h.uncompressed-levels)
		if err := p.decompress(c, p.body[levels:]); err != nil {
			return page{}, err
		}
		pg.data = p.data
	}
	switch h.typ {
	case pageDataV2:
		pg.rep, pg.def = p.body[:h.repSize], p.body[h.repSize:levels]
	case pageData:
		var err error
		if pg.rep, err = p.levels(&pg, p.leaf.maxRep, h.repEncoding); err != nil {
			return page{}, err
		}
		if pg.def, err = p.levels(&pg, p.leaf.maxDef, h.defEncoding); err != nil {
			return page{}, err
		}
	}
	return pg, nil
}

func (p *pages) decompress(c codec, src []byte) error {
	if len(p.data) == 0 {
		return nil // a page without values may have nothing to decompress
	}
	return p.unpack.decompress(c, p.data, src)
}

// levels cuts the levels off that a page of version 1 starts with, behind their
// length.
func (p *pages) levels(pg *page, highest int, encoding int64) ([]byte, error) {
	if highest == 0 {
		return nil, nil
	}
	if encoding != encodingRLE {
		return nil, fmt.Errorf("levels in encoding %d are not supported", encoding)
	}
	const prefix = 4
	if len(pg.data) < prefix {
		return nil, errShortPage
	}
	n := int64(binary.LittleEndian.Uint32(pg.data))
	rest := pg.data[prefix:]
	if n > int64(len(rest)) {
		return nil, errShortPage
	}
	pg.data = rest[n:]
	return rest[:n], nil
}

// grow returns a slice of length n, buf's memory where that suffices.
func grow(buf []byte, n int64) []byte {
	if int64(cap(buf)) < n {
		return make([]byte, n)
	}
	return buf[:n]
}

// budget bounds what the columns of a file hold together.
type budget struct{ held int64 }

func (b *budget) add(n int64) error {
	b.held += n
	if b.held > MaxHeldBytes {
		b.held -= n
		return fmt.Errorf("pages of more than %d bytes at a time", MaxHeldBytes)
	}
	return nil
}
