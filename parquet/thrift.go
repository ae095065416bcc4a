package parquet

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

var (
	errThriftShort = errors.New("metadata end early")
	errThrift      = errors.New("metadata are damaged")
)

// maxThriftDepth limits the nesting of structs and lists.
const maxThriftDepth = 16

// footerRowGroups is the field of the row groups in the footer.
const footerRowGroups = 4

// thriftChecker checks a Thrift struct before the library decodes it: the library allocates lists of any
// claimed length and follows any nesting.
type thriftChecker struct {
	thrift.BytesReader
	size int
	// groups has the offsets of the row groups.
	groups []int
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
