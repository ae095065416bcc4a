package key

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/internal/order"
	"github.com/optrace/optrace/op"
)

// Value is the value of one key. The zero value is unknown.
type Value struct {
	// Text is the value; "" when Known is false.
	Text string
	// Known reports whether there is a value.
	Known bool
	// Number is the value of an integer key.
	Number op.Int
}

// String returns the text, or "unknown" for an unknown value.
func (v Value) String() string {
	if !v.Known {
		return Unknown
	}
	return v.Text
}

// MarshalJSON returns a string, a number for an integer, or null for an unknown value.
func (v Value) MarshalJSON() ([]byte, error) {
	switch {
	case !v.Known:
		return []byte("null"), nil
	case v.Number.Known:
		return []byte(v.Text), nil
	}
	return marshalText(v.Text), nil
}

// UnmarshalJSON reads the form of MarshalJSON.
func (v *Value) UnmarshalJSON(text []byte) error {
	*v = Value{}
	switch {
	case string(text) == "null":
		return nil
	case text[0] == '"':
		v.Known = true
		return json.Unmarshal(text, &v.Text)
	}
	if err := json.Unmarshal(text, &v.Number); err != nil {
		return err
	}
	v.Known = true
	v.Text = v.Number.String()
	return nil
}

// marshalText returns s as a JSON string with < and > unescaped. The outer encoder escapes them if necessary.
func marshalText(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // strings always encode
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Group is one group of a grouping: its keys and their values in the same order.
type Group struct {
	Keys   []Key
	Values []Value
	// Other marks the row of the groups beyond the limit; Values is then empty.
	Other bool
}

// String returns the values separated by ", ", or "(other)".
func (g Group) String() string {
	if g.Other {
		return Other
	}
	parts := make([]string, len(g.Values))
	for i, v := range g.Values {
		parts[i] = v.String()
	}
	return strings.Join(parts, ", ")
}

// MarshalJSON returns an object with a member per key, in the order of the keys. In the row beyond the limit
// each value is "(other)".
func (g Group) MarshalJSON() ([]byte, error) {
	dst := []byte{'{'}
	for i, k := range g.Keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		v := textValue(Other)
		if !g.Other {
			v = g.Values[i]
		}
		value, err := v.MarshalJSON()
		if err != nil {
			return nil, err
		}
		dst = append(append(append(dst, marshalText(k.String())...), ':'), value...)
	}
	return append(dst, '}'), nil
}

// UnmarshalJSON reads the form of MarshalJSON. A group with only "(other)" values is the row beyond the limit.
func (g *Group) UnmarshalJSON(text []byte) error {
	*g = Group{Other: true}
	dec := json.NewDecoder(bytes.NewReader(text))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("reading group key: %.100q is not an object", text)
	}
	for dec.More() {
		name, err := dec.Token() // a string, or the next call fails
		if err != nil {
			return fmt.Errorf("reading group key: %w", err)
		}
		key, err := ParseOne(fmt.Sprint(name))
		if err != nil {
			return err
		}
		var v Value
		if err := dec.Decode(&v); err != nil {
			return fmt.Errorf("reading group key: %w", err)
		}
		g.Keys = append(g.Keys, key)
		g.Values = append(g.Values, v)
		g.Other = g.Other && v == textValue(Other)
	}
	if g.Other {
		g.Values = nil
	}
	return nil
}

// Labels of rows without a single value.
const (
	Unknown = "unknown"
	Other   = "(other)"
	Mixed   = "mixed"
)

func textValue(s string) Value {
	if s == "" {
		return Value{}
	}
	return Value{Text: s, Known: true}
}

// Compare orders groups by their values: unknown values first, numbers by size, the row beyond the limit last.
func (g Group) Compare(o Group) int {
	return cmp.Or(order.Flags(g.Other, o.Other), slices.CompareFunc(g.Values, o.Values, Value.compare))
}

func (v Value) compare(o Value) int {
	if v.Number.Known && o.Number.Known {
		return cmp.Compare(v.Number.V, o.Number.V)
	}
	return cmp.Or(order.Flags(v.Known, o.Known), strings.Compare(v.Text, o.Text))
}
