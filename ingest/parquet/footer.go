package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// magic starts and ends a file, and encryptedMagic one with an encrypted footer.
const (
	magic          = "PAR1"
	encryptedMagic = "PARE"
)

// footer is a file's metadata. The row groups are taken from it one by one:
// there may be many.
type footer struct {
	leaves []leaf
	rows   int64
	groups int          // how many row groups are left
	reader thriftReader // stands before the next of them
	schema string       // what the metadata name as the schema; "" for foreign files
}

// schemaKey is where render/parquet names the schema.
const schemaKey = "optrace.schema"

var errNoFooter = errors.New("parquet file has no footer: it is cut off, or still being written")

// readFooter reads the metadata at the end of a file.
func readFooter(src io.ReaderAt, size int64) (*footer, error) {
	const tail = 8 // the footer's length, and the magic
	if size < int64(len(magic)+tail) {
		return nil, errNoFooter
	}
	var end [tail]byte
	if err := readAt(src, end[:], size-tail); err != nil {
		return nil, fmt.Errorf("reading parquet footer: %w", err)
	}
	switch string(end[4:]) {
	case magic:
	case encryptedMagic:
		return nil, errors.New("parquet file is encrypted")
	default:
		return nil, errNoFooter
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	switch {
	case n > size-tail-int64(len(magic)):
		return nil, fmt.Errorf("parquet footer of %d bytes is longer than the file", n)
	case n > MaxFooterBytes:
		return nil, fmt.Errorf("parquet footer of %d bytes; at most %d are read", n, MaxFooterBytes)
	}
	text := make([]byte, n)
	if err := readAt(src, text, size-tail-n); err != nil {
		return nil, fmt.Errorf("reading parquet footer: %w", err)
	}
	f, err := parseFooter(text)
	if err != nil {
		return nil, fmt.Errorf("parquet footer: %w", err)
	}
	if f.rows > FreeRows && f.rows/MaxRowsPerByte > size {
		return nil, fmt.Errorf("parquet file of %d bytes claims %d rows", size, f.rows)
	}
	return f, nil
}

// readAt fills p.
func readAt(src io.ReaderAt, p []byte, off int64) error {
	n, err := src.ReadAt(p, off)
	switch {
	case n == len(p):
		return nil
	case err == nil || err == io.EOF:
		return io.ErrUnexpectedEOF
	}
	return err
}

func parseFooter(text []byte) (*footer, error) {
	f := &footer{}
	r := thriftReader{buf: text}
	for field := range r.fields() {
		switch field.id {
		case 2:
			leaves, err := readSchema(&r, r.structs(field))
			if err != nil {
				return nil, err
			}
			f.leaves = leaves
		case 3:
			f.rows = r.int(field)
		case 4:
			at := r
			if f.groups = at.structs(field); f.groups > 0 {
				f.reader = at // and r passes over them
			}
		case 5:
			for range r.structs(field) {
				if key, value := readKeyValue(&r); string(key) == schemaKey {
					f.schema = string(value)
				}
			}
		case 8:
			return nil, errors.New("the file is encrypted")
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	if f.rows < 0 {
		return nil, errThrift
	}
	return f, nil
}

func readKeyValue(r *thriftReader) (key, value []byte) {
	for f := range r.fields() {
		switch f.id {
		case 1:
			key = r.bytes(f)
		case 2:
			value = r.bytes(f)
		}
	}
	return key, value
}

// rowGroup is a part of the table: a range of rows.
type rowGroup struct {
	rows   int64
	chunks []chunk // one per leaf
}

// chunk is where the values of a column in a row group lie.
type chunk struct {
	// offset and size span the pages. A size of 0 is a chunk that is missing.
	offset, size int64
	codec        codec
	elsewhere    bool // in another file
}

// nextGroup reads the next row group into g, io.EOF after the last.
func (f *footer) nextGroup(g *rowGroup) error {
	if f.groups == 0 {
		return io.EOF
	}
	f.groups--
	g.rows, g.chunks = 0, g.chunks[:0]
	r := &f.reader
	for field := range r.fields() {
		switch field.id {
		case 1:
			for range r.structs(field) {
				g.chunks = append(g.chunks, readChunk(r))
			}
		case 3:
			g.rows = r.int(field)
		}
	}
	if r.err != nil {
		return r.err
	}
	if len(g.chunks) != len(f.leaves) || g.rows < 0 || g.rows > f.rows {
		return fmt.Errorf("row group of %d columns and %d rows, in a table of %d columns and %d rows",
			len(g.chunks), g.rows, len(f.leaves), f.rows)
	}
	f.rows -= g.rows
	return nil
}

func readChunk(r *thriftReader) chunk {
	c := chunk{}
	for f := range r.fields() {
		switch {
		case f.id == 1:
			c.elsewhere = len(r.bytes(f)) > 0
		case f.id == 3 && f.typ == thriftStruct:
			c.readMetadata(r)
		}
	}
	return c
}

// readMetadata reads a ColumnMetaData.
func (c *chunk) readMetadata(r *thriftReader) {
	data, dict := int64(0), int64(0)
	for f := range r.fields() {
		switch f.id {
		case 4:
			c.codec = codec(r.int(f))
		case 7:
			c.size = r.int(f)
		case 9:
			data = r.int(f)
		case 11:
			dict = r.int(f)
		}
	}
	// Some writers give 0 for a chunk that has no dictionary.
	if c.offset = data; 0 < dict && dict < data {
		c.offset = dict
	}
}
