package analyze

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/op"
)

// KeyValue is the value of one key. The zero value is one that is not known.
type KeyValue struct {
	// Text is the value; "" when Known is false.
	Text string
	// Known reports whether the entries have the value.
	Known bool
	// Number is the value where it is an integer.
	Number op.Int
}

// String returns the text, "unknown" for a value that is not known.
func (v KeyValue) String() string {
	if !v.Known {
		return unknownLabel
	}
	return v.Text
}

// MarshalJSON returns a string, a number for an integer, null when not known.
func (v KeyValue) MarshalJSON() ([]byte, error) {
	switch {
	case !v.Known:
		return []byte("null"), nil
	case v.Number.Known:
		return []byte(v.Text), nil
	}
	return marshalText(v.Text)
}

// UnmarshalJSON reads the form of MarshalJSON.
func (v *KeyValue) UnmarshalJSON(text []byte) error {
	*v = KeyValue{}
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
	v.Known, v.Text = true, v.Number.String()
	return nil
}

// marshalText returns s as a JSON string in which < and > stay readable: the
// encoder around it escapes them where that matters.
func marshalText(s string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(s)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// GroupKey holds the keys of a grouping and, in the same order, their values
// for one group.
type GroupKey struct {
	Keys   []Key
	Values []KeyValue
	// Other marks the row of the groups beyond the limit; Values is then empty.
	Other bool
}

// String returns the values separated by ", ", or "(other)".
func (g GroupKey) String() string {
	if g.Other {
		return otherLabel
	}
	parts := make([]string, len(g.Values))
	for i, v := range g.Values {
		parts[i] = v.String()
	}
	return strings.Join(parts, ", ")
}

// MarshalJSON returns an object with a member per key, in the order of the
// keys; every value is "(other)" in the row of the groups beyond the limit.
func (g GroupKey) MarshalJSON() ([]byte, error) {
	dst := []byte{'{'}
	for i, k := range g.Keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		name, err := marshalText(k.String())
		if err != nil {
			return nil, err
		}
		v := textValue(otherLabel)
		if !g.Other {
			v = g.Values[i]
		}
		value, err := v.MarshalJSON()
		if err != nil {
			return nil, err
		}
		dst = append(append(append(dst, name...), ':'), value...)
	}
	return append(dst, '}'), nil
}

// UnmarshalJSON reads the form of MarshalJSON. A key with the value "(other)"
// throughout is that of the row of the groups beyond the limit.
func (g *GroupKey) UnmarshalJSON(text []byte) error {
	*g = GroupKey{Other: true}
	dec := json.NewDecoder(bytes.NewReader(text))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("reading group key: %.100q is no object", text)
	}
	for dec.More() {
		name, err := dec.Token() // a string, or the next call fails
		if err != nil {
			return fmt.Errorf("reading group key: %w", err)
		}
		key, err := parseKey(fmt.Sprint(name))
		if err != nil {
			return err
		}
		var v KeyValue
		if err := dec.Decode(&v); err != nil {
			return fmt.Errorf("reading group key: %w", err)
		}
		g.Keys, g.Values = append(g.Keys, key), append(g.Values, v)
		g.Other = g.Other && v == textValue(otherLabel)
	}
	if g.Other {
		g.Values = nil
	}
	return nil
}

// The labels of rows that stand for no single value.
const (
	unknownLabel = UnknownDevice
	otherLabel   = "(other)"
	mixedLabel   = "mixed"
)

func textValue(s string) KeyValue {
	if s == "" {
		return KeyValue{}
	}
	return KeyValue{Text: s, Known: true}
}

func intValue(i op.Int) KeyValue {
	if !i.Known {
		return KeyValue{}
	}
	return KeyValue{Text: i.String(), Known: true, Number: i}
}

// compare orders keys value by value, unknown ones first and numbers by size;
// the row of the others comes last.
func (g GroupKey) compare(o GroupKey) int {
	if g.Other != o.Other {
		if g.Other {
			return 1
		}
		return -1
	}
	return slices.CompareFunc(g.Values, o.Values, KeyValue.compare)
}

func (v KeyValue) compare(o KeyValue) int {
	switch {
	case v.Known != o.Known && v.Known:
		return 1
	case v.Known != o.Known:
		return -1
	case v.Number.Known && o.Number.Known:
		return cmp.Compare(v.Number.V, o.Number.V)
	}
	return strings.Compare(v.Text, o.Text)
}
