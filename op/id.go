package op

import (
	"encoding/hex"
	"fmt"

	"github.com/optrace/optrace/internal/text/lexer"
)

// TraceID identifies a trace. The zero value is unknown.
type TraceID [16]byte

// SpanID identifies a span within its trace. The zero value is unknown; a parent of zero is absent.
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
func (id TraceID) MarshalText() ([]byte, error) { return lexer.AppendHex(nil, id[:]), nil }

// MarshalText returns the hexadecimal form.
func (id SpanID) MarshalText() ([]byte, error) { return lexer.AppendHex(nil, id[:]), nil }

// ParseTraceID reads 32 hexadecimal digits in either case, or 16: Jaeger leaves out a high half of zeros.
func ParseTraceID(s []byte) (id TraceID, ok bool) {
	ok = lexer.ParseID(id[:], s)
	return id, ok
}

// ParseSpanID reads 16 hexadecimal digits in either case.
func ParseSpanID(s []byte) (id SpanID, ok bool) {
	ok = lexer.ParseID(id[:], s)
	return id, ok
}

// UnmarshalText reads the hexadecimal form.
func (id *TraceID) UnmarshalText(text []byte) error {
	return unmarshalID(id, ParseTraceID, text, "trace")
}

// UnmarshalText reads the hexadecimal form.
func (id *SpanID) UnmarshalText(text []byte) error { return unmarshalID(id, ParseSpanID, text, "span") }

func unmarshalID[ID any](id *ID, parse func([]byte) (ID, bool), text []byte, of string) error {
	parsed, ok := parse(text)
	if !ok {
		return fmt.Errorf("%q is not a %s id", text, of)
	}
	*id = parsed
	return nil
}
