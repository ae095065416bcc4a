package protobuf_test

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/text/protobuf"
)

func TestAppendedFieldsReadBack(t *testing.T) {
	for _, size := range []int{0, 1, 127, 128, 1 << 14, 1 << 21} {
		text := bytes.Repeat([]byte("x"), size)
		for reserve := 1; reserve <= 3; reserve++ {
			message, start := protobuf.Begin(nil, 300, reserve)
			message = protobuf.AppendUint(message, 1, 1<<63)
			message = protobuf.AppendFixed64(message, 2, 2)
			message = protobuf.AppendFixed32(message, 3, 3)
			message = protobuf.AppendBytes(message, 4, text)
			message = protobuf.End(protobuf.AppendText(message, 5, "\xff"), start, reserve)
			size, err := protobuf.FieldSize(message)
			check.OK(t, err)
			check.Equal(t, "size", len(message), size)
			outer := protobuf.Cursor{Buf: message}
			if !outer.Next() || outer.Field != 300 {
				t.Fatalf("the first field is %d", outer.Field)
			}
			c := protobuf.Cursor{Buf: outer.Bytes()}
			c.Next()
			check.Equal(t, "varint", 1<<63, c.Uint())
			c.Next()
			check.Equal(t, "8 bytes", 2, c.Fixed64())
			c.Next()
			check.Equal(t, "4 bytes", 3, c.Fixed32())
			c.Next()
			check.Equal(t, "bytes", string(text), string(c.Bytes()))
			c.Next()
			check.Equal(t, "text", "\ufffd", string(c.Bytes()))
			if c.Next() || c.Err != nil || outer.Next() {
				t.Fatalf("more fields, or the error %v", c.Err)
			}
		}
	}
}

func TestCursorKeepsTheFirstError(t *testing.T) {
	for text, want := range map[string]error{
		"\x0a\x05ab":               protobuf.ErrEnd,
		"\x09\x01":                 protobuf.ErrEnd,
		"\x0d\x01":                 protobuf.ErrEnd,
		"\x0b\x08\x01":             protobuf.ErrEnd, // a group without an end
		"\x08\xff":                 protobuf.ErrEnd,
		"\x0c":                     protobuf.ErrWireType,
		"\x0f":                     protobuf.ErrWireType,
		"\x0b\x08\x01\x0c\x08\x07": nil,
		"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f": protobuf.ErrVarint,
	} {
		c := protobuf.Cursor{Buf: []byte(text)}
		for c.Next() {
			c.Skip()
		}
		if c.Err != want || want != nil && (c.Next() || c.Varint() != 0 || c.Bytes() != nil) {
			t.Errorf("%q: the error is %v, want %v", text, c.Err, want)
		}
	}
}

// FuzzCursor compares the fields of a message with protobuf's own library.
func FuzzCursor(f *testing.F) {
	for _, text := range []string{"\x08\x96\x01", "\x0a\x02ab\x10\x01", "\x0b\x08\x01\x0c",
		"\x09\x01\x02\x03\x04\x05\x06\x07\x08", "\x0f"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := protobuf.Cursor{Buf: text}
		for rest := text; len(rest) > 0; rest = text[c.Pos:] {
			num, typ, n := protowire.ConsumeTag(rest)
			size := n
			if n > 0 {
				size = -1
				if m := protowire.ConsumeFieldValue(num, typ, rest[n:]); m >= 0 {
					size = n + m
				}
			}
			var field int
			var wireType byte
			if c.Next() {
				field, wireType = c.Field, c.Type
				c.Skip()
			}
			if (c.Err == nil) != (size > 0) {
				if num > protowire.MaxValidNumber || typ == protowire.StartGroupType {
					return // the library takes larger numbers and deeper groups
				}
				t.Fatalf("%x at %d: the error is %v, the library's size %d", text, len(text)-len(rest), c.Err, size)
			}
			if c.Err != nil {
				return
			}
			if field != int(num) || wireType != byte(typ) || c.Pos != len(text)-len(rest)+size {
				t.Fatalf("%x: field %d of type %d ends at %d, want %d, %d, size %d", text, field, wireType, c.Pos, num,
					typ, size)
			}
		}
	})
}
