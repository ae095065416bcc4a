package op

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/optrace/optrace/internal/jsontext"
)

// TraceID identifies a trace. The zero value means that it is not known.
type TraceID [16]byte

// SpanID identifies a span within its trace. The zero value means that it is
// not known, or for a parent that there is none.
type SpanID [8]byte

// IsZero reports whether the id is not known.
func (id TraceID) IsZero() bool { return id == TraceID{} }

// IsZero reports whether the id is not known.
func (id SpanID) IsZero() bool { return id == SpanID{} }

// String returns 32 lower-case hexadecimal digits.
func (id TraceID) String() string { return hex.EncodeToString(id[:]) }

// String returns 16 lower-case hexadecimal digits.
func (id SpanID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText returns the hexadecimal form.
func (id TraceID) MarshalText() ([]byte, error) { return jsontext.AppendHex(nil, id[:]), nil }

// MarshalText returns the hexadecimal form.
func (id SpanID) MarshalText() ([]byte, error) { return jsontext.AppendHex(nil, id[:]), nil }

// placeholder starts the ids of traces that stand for no id.
const placeholder = "optrace\x00"

// PlaceholderTraceID returns an id for operations that have none, for formats
// that require one. Readers recognise it.
func PlaceholderTraceID(n uint64) (id TraceID) {
	copy(id[:], placeholder)
	binary.BigEndian.PutUint64(id[len(placeholder):], n)
	return id
}

// IsPlaceholder reports whether the id stands for none.
func (id TraceID) IsPlaceholder() bool { return string(id[:len(placeholder)]) == placeholder }

// localTrace starts the ids of traces that no backend knows.
const localTrace = "optrace\x01"

// LocalTraceID returns an id for the operations of a profile, which say by it and
// their parents how they nest. Nothing else is a part of such a trace: it is no
// request, and its operations are not all that happened.
func LocalTraceID(n uint64) (id TraceID) {
	copy(id[:], localTrace)
	binary.BigEndian.PutUint64(id[len(localTrace):], n)
	return id
}

// IsLocal reports whether the id is one of LocalTraceID.
func (id TraceID) IsLocal() bool { return string(id[:len(localTrace)]) == localTrace }

// ParseTraceID reads 32 hexadecimal digits in either case, or the 16 that
// Jaeger prints when the high half is zero.
func ParseTraceID(s []byte) (id TraceID, ok bool) {
	ok = ParseID(id[:], s)
	return id, ok
}

// ParseSpanID reads 16 hexadecimal digits in either case.
func ParseSpanID(s []byte) (id SpanID, ok bool) {
	ok = ParseID(id[:], s)
	return id, ok
}

// ParseID is [ParseTraceID] or [ParseSpanID], by the size of the id, which is zero where the text is none.
func ParseID(id, s []byte) bool {
	clear(id)
	to := id
	if len(id) == len(TraceID{}) && len(s) == 16 {
		to = id[8:]
	}
	if !jsontext.DecodeHex(to, s) {
		clear(id)
		return false
	}
	return true
}

// UnmarshalText reads the hexadecimal form.
func (id *TraceID) UnmarshalText(text []byte) error {
	parsed, ok := ParseTraceID(text)
	if !ok {
		return fmt.Errorf("%q is no trace id", text)
	}
	*id = parsed
	return nil
}

// UnmarshalText reads the hexadecimal form.
func (id *SpanID) UnmarshalText(text []byte) error {
	parsed, ok := ParseSpanID(text)
	if !ok {
		return fmt.Errorf("%q is no span id", text)
	}
	*id = parsed
	return nil
}
