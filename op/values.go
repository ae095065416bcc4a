package op

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/optrace/optrace/internal/text/lexer"
)

// Int is an integer, perhaps unknown. The zero value is unknown.
type Int struct {
	V     int64 // the value, 0 if unknown
	Known bool  // set if V was given
}

// Known returns an Int of value v.
func Known(v int64) Int { return Int{V: v, Known: true} }

// Or returns the value, or def if it is unknown.
func (i Int) Or(def int64) int64 {
	if i.Known {
		return i.V
	}
	return def
}

// String returns the value in decimal, or "unknown".
func (i Int) String() string {
	if !i.Known {
		return "unknown"
	}
	return strconv.FormatInt(i.V, 10)
}

// MarshalJSON returns the value, null if unknown.
func (i Int) MarshalJSON() ([]byte, error) { return i.append(nil), nil }

func (i Int) append(dst []byte) []byte {
	if !i.Known {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, i.V, 10)
}

// UnmarshalJSON reads a number or null.
func (i *Int) UnmarshalJSON(text []byte) error {
	var v *int64
	err := json.Unmarshal(text, &v)
	*i = Int{}
	if v != nil {
		*i = Known(*v)
	}
	return err
}

// Float is a number, perhaps unknown. The zero value is unknown.
type Float struct {
	V float64 // the value, 0 if unknown
	// Known reports whether V was given.
	Known bool
}

// KnownFloat returns a Float of value v.
func KnownFloat(v float64) Float { return Float{V: v, Known: true} }

// String returns the value in decimal, or "unknown".
func (f Float) String() string {
	if !f.Known {
		return "unknown"
	}
	return strconv.FormatFloat(f.V, 'g', -1, 64)
}

// MarshalJSON returns the value, null if unknown.
func (f Float) MarshalJSON() ([]byte, error) {
	if !f.Known {
		return []byte("null"), nil
	}
	return json.Marshal(f.V)
}

// UnmarshalJSON reads a number or null.
func (f *Float) UnmarshalJSON(text []byte) error {
	var v *float64
	err := json.Unmarshal(text, &v)
	*f = Float{}
	if v != nil {
		*f = KnownFloat(*v)
	}
	return err
}

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
