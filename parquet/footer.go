package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// magic starts and ends a file; encryptedMagic ends a file with an encrypted footer.
const (
	magic          = "PAR1"
	encryptedMagic = "PARE"
)

const schemaKey = "optrace.schema" // the metadata key of the schema's name

var errNoFooter = errors.New("parquet file has no footer: it is cut off, or still being written")

// footer is the metadata of a file. Row groups are decoded one by one, because a file may have many.
type footer struct {
	text   []byte
	leaves []leaf
	rows   int64
	groups []groupPlace
	lost   int64  // number of rows outside the row groups
	schema string // schema named by the metadata; "" in foreign files
}

// groupPlace locates a row group in the footer. It also has the number of the first row and the stated size.
type groupPlace struct {
	offset       int
	first, bytes int64
}

// fileMetadata has the fields of FileMetaData in use, except for the row groups.
type fileMetadata struct {
	Schema     thrift.Slice[format.SchemaElement] `thrift:"2"`
	Rows       int64                              `thrift:"3,required"`
	KeyValues  thrift.Slice[keyValue]             `thrift:"5"`
	Encryption *struct{}                          `thrift:"8"`
}

type keyValue struct {
	Key   string `thrift:"1"`
	Value string `thrift:"2"`
}

// rowGroup has the fields of RowGroup in use, and columnChunk those of ColumnChunk.
type rowGroup struct {
	Columns thrift.Slice[columnChunk] `thrift:"1"`
	Rows    int64                     `thrift:"3"`
}

type columnChunk struct {
	File string `thrift:"1"`
	Meta struct {
		Codec      format.CompressionCodec `thrift:"4"`
		Size       int64                   `thrift:"7"`
		Data       int64                   `thrift:"9"`
		Dictionary int64                   `thrift:"11"`
	} `thrift:"3"`
}

// readFooter reads the metadata at the end of a file.
func readFooter(src io.ReaderAt, size int64) (*footer, error) {
	const tail = 8 // length of the footer, and magic
	if size < int64(len(magic)+tail) {
		return nil, errNoFooter
	}
	var end [tail]byte
	if err := readAt(src, end[:], size-tail); err != nil {
		return nil, fmt.Errorf("reading parquet footer: %w", err)
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	switch m := string(end[4:]); {
	case m == encryptedMagic:
		return nil, errors.New("parquet file is encrypted")
	case m != magic:
		return nil, errNoFooter
	case n > size-tail-int64(len(magic)):
		return nil, fmt.Errorf("parquet footer of %d bytes is longer than the file", n)
	case n > maxFooterBytes:
		return nil, fmt.Errorf("parquet footer of %d bytes; at most %d are read", n, maxFooterBytes)
	}
	f := &footer{text: make([]byte, n)}
	if err := readAt(src, f.text, size-tail-n); err != nil {
		return nil, fmt.Errorf("reading parquet footer: %w", err)
	}
	bytes, err := f.parse()
	if err != nil {
		return nil, fmt.Errorf("parquet footer: %w", err)
	}
	if f.rows > freeRows && f.rows/maxRowsPerByte > min(bytes, size) {
		return nil, fmt.Errorf("parquet file of %d bytes claims %d rows", size, f.rows)
	}
	return f, nil
}

// readAt fills p.
func readAt(src io.ReaderAt, p []byte, off int64) error {
	n, err := src.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// parse decodes the metadata without the row groups and returns the sum of their stated sizes.
func (f *footer) parse() (bytes int64, err error) {
	check, err := checkThrift(f.text)
	if err != nil {
		return 0, err
	}
	var m fileMetadata
	switch err := decodeThrift(f.text, &m); {
	case err != nil:
		return 0, err
	case m.Encryption != nil:
		return 0, errors.New("the file is encrypted")
	case m.Rows < 0:
		return 0, errThrift
	}
	f.rows = m.Rows
	for _, kv := range m.KeyValues {
		if kv.Key == schemaKey {
			f.schema = kv.Value
		}
	}
	if f.leaves, err = leavesOf(m.Schema); err != nil {
		return 0, err
	}
	first := int64(0)
	for i, offset := range check.groups {
		f.groups = append(f.groups, groupPlace{offset: offset, first: first})
		g, err := f.group(i)
		if err != nil {
			break // reading it returns the error
		}
		place := &f.groups[i]
		for _, c := range g.Columns {
			place.bytes += max(0, min(c.Meta.Size, math.MaxInt64-place.bytes))
		}
		bytes += min(place.bytes, math.MaxInt64-bytes)
		first += g.Rows
	}
	f.lost = f.rows - first
	return bytes, nil
}

// group decodes a row group.
func (f *footer) group(i int) (*rowGroup, error) {
	g := &rowGroup{}
	place := f.groups[i]
	if err := decodeThrift(f.text[place.offset:], g); err != nil {
		return nil, err
	}
	if rows := f.rows - place.first; len(g.Columns) != len(f.leaves) || g.Rows < 0 || g.Rows > rows {
		return nil, fmt.Errorf("row group of %d columns and %d rows, in a table of %d columns and %d rows",
			len(g.Columns), g.Rows, len(f.leaves), rows)
	}
	return g, nil
}

var (
	errThriftShort = errors.New("metadata end early")
	errThrift      = errors.New("metadata are damaged")
)

const maxThriftDepth = 16 // limits the nesting of structs and lists

const footerRowGroups = 4 // the field of the row groups in the footer

// thriftChecker checks a Thrift struct before the library decodes it: the library allocates lists of any
// claimed length and follows any nesting.
type thriftChecker struct {
	thrift.BytesReader
	size   int
	groups []int // has the offsets of the row groups
	limit  error // set if the struct exceeds a limit
}

func checkThrift(text []byte) (*thriftChecker, error) {
	c := &thriftChecker{BytesReader: new(thrift.CompactProtocol).NewReaderFromBytes(text), size: len(text)}
	err := c.check(thrift.STRUCT, 0, 0)
	switch {
	case err == nil:
	case c.limit != nil:
		err = c.limit
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		err = errThriftShort
	default:
		err = errThrift
	}
	return c, err
}

// check skips a value. field is the number of its field in the outermost struct, or 0.
func (c *thriftChecker) check(typ thrift.Type, depth int, field int16) (err error) {
	if depth > maxThriftDepth {
		return errThrift
	}
	switch typ {
	case thrift.TRUE, thrift.FALSE: // the type includes the value
	case thrift.I8:
		_, err = c.ReadInt8()
	case thrift.I16, thrift.I32, thrift.I64:
		_, err = c.ReadInt64()
	case thrift.DOUBLE:
		_, err = c.ReadFloat64()
	case thrift.BINARY:
		_, err = c.ReadBytes()
	case thrift.LIST, thrift.SET:
		err = c.checkList(depth, field)
	case thrift.STRUCT:
		err = c.checkStruct(depth)
	default:
		err = errThrift // Parquet has no maps
	}
	return err
}

func (c *thriftChecker) checkStruct(depth int) error {
	for id := int16(0); ; {
		f, err := c.ReadField()
		if err != nil || f.Type == thrift.STOP {
			return err
		}
		if !f.Delta {
			id = 0
		}
		id += f.ID
		field := id
		if depth > 0 {
			field = 0
		}
		if err := c.check(f.Type, depth+1, field); err != nil {
			return err
		}
	}
}

func (c *thriftChecker) checkList(depth int, field int16) error {
	l, err := c.ReadList()
	most := int32(maxColumns)
	if field == footerRowGroups {
		most = maxRowGroups
	}
	switch {
	case err != nil:
		return err
	case int(l.Size) > c.size-c.BytesRead(): // an element takes at least a byte
		return io.ErrUnexpectedEOF
	case l.Size > most:
		c.limit = fmt.Errorf("more than %d columns or row groups", most)
		return c.limit
	case l.Type == thrift.TRUE || l.Type == thrift.FALSE:
		l.Type = thrift.I8 // unlike a field, an element takes a byte
	}
	for range l.Size {
		if field == footerRowGroups {
			c.groups = append(c.groups, c.BytesRead())
		}
		if err := c.check(l.Type, depth+1, 0); err != nil {
			return err
		}
	}
	return nil
}

// decodeThrift decodes the struct at the start of text. checkThrift must have accepted it.
func decodeThrift(text []byte, v any) (err error) {
	defer func() {
		if recover() != nil {
			err = errThrift
		}
	}()
	if thrift.NewDecoder(new(thrift.CompactProtocol).NewReaderFromBytes(text)).Decode(v) != nil {
		return errThrift
	}
	return nil
}
