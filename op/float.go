package op

import (
	"encoding/json"
	"strconv"
)

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
