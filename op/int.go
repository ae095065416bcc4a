package op

import (
	"encoding/json"
	"strconv"
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
