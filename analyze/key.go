package analyze

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/optrace/optrace/op"
)

// Key is a property of entries to group them by.
type Key struct {
	field keyField
	attr  string
}

type keyField uint8

const (
	byOperation keyField = iota
	byKind
	byDevice
	byRank
	byStream
	byShape
	byStep
	byRoot
	byService
	byTrace
	byPath
	byAttr
)

// keyNames are the keys without a parameter.
var keyNames = [...]string{
	byOperation: "operation", byKind: "kind", byDevice: "device", byRank: "rank", byStream: "stream",
	byShape: "shape", byStep: "step", byRoot: "root", byService: "service", byTrace: "trace", byPath: "path",
}

const attrPrefix = "attr:"

// KeyNames returns the names of the keys, attr:NAME aside.
func KeyNames() []string { return slices.Clone(keyNames[:]) }

// parseKey returns the key that s names: operation, kind, device, rank,
// stream, shape, step, root, service, trace, path, or attr:NAME, which may be the NAME alone
// where that has a dot.
func parseKey(s string) (Key, error) {
	if attr, ok := strings.CutPrefix(s, attrPrefix); ok && attr != "" {
		return Key{field: byAttr, attr: attr}, nil
	}
	for f, name := range keyNames {
		if s == name {
			return Key{field: keyField(f)}, nil
		}
	}
	if strings.Contains(s, ".") && !strings.Contains(s, ":") { // the name of an attribute
		return Key{field: byAttr, attr: s}, nil
	}
	return Key{}, fmt.Errorf("parsing key: %q is none of %s, attr:NAME", s, strings.Join(keyNames[:], ", "))
}

// ParseKeys returns the keys that s lists, separated by commas. An empty s
// gives none.
func ParseKeys(s string) ([]Key, error) {
	if s == "" {
		return nil, nil
	}
	var keys []Key
	for part := range strings.SplitSeq(s, ",") {
		k, err := parseKey(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		if slices.Contains(keys, k) {
			return nil, fmt.Errorf("parsing keys: %s is there twice", k)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// Attr returns the attribute that the key reads, "" for every other key. A
// reader has to keep that attribute ([op.Mapping.Keep]).
func (k Key) Attr() string { return k.attr }

// String returns the key as ParseKey reads it.
func (k Key) String() string {
	if k.field == byAttr {
		return attrPrefix + k.attr
	}
	return keyNames[k.field]
}

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

// appendTo appends e's value of the key in a form that differs for different
// values and does not run into the next one. It allocates nothing.
func (k Key) appendTo(dst []byte, e *op.Entry) []byte {
	switch k.field {
	case byOperation:
		return appendCounted(dst, e.Operation)
	case byKind:
		return append(dst, byte(e.Kind))
	case byDevice:
		if !e.HasDevice() {
			return append(dst, 0)
		}
		return appendCounted(append(dst, 1), e.DeviceID)
	case byRank:
		return appendInt(dst, e.Rank)
	case byStream:
		return appendInt(dst, e.Stream)
	case byShape:
		start := len(dst)
		dst = e.AppendShapes(append(dst, 0, 0, 0, 0))
		binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start))
		return dst
	case byStep:
		return appendInt(dst, e.Step)
	case byRoot:
		return appendCounted(dst, e.Root)
	case byService:
		return appendCounted(dst, e.Service)
	case byPath:
		return appendCounted(dst, e.Path)
	case byTrace:
		if e.TraceID.IsLocal() { // says nothing of the input's traces
			return append(dst, make([]byte, len(e.TraceID))...)
		}
		return append(dst, e.TraceID[:]...)
	case byAttr:
		for _, a := range e.Attrs {
			if a.Key == k.attr {
				return appendCounted(append(dst, 1), a.Value)
			}
		}
		return append(dst, 0)
	}
	return dst
}

// simple returns e's value of a key that is one text, or one number beside an
// empty text.
func (k Key) simple(e *op.Entry) (text string, number op.Int, ok bool) {
	switch k.field {
	case byOperation:
		return e.Operation, op.Int{}, true
	case byDevice:
		return e.DeviceID, op.Int{}, !e.EmptyDevice // in the cache, "" is no device
	case byRoot:
		return e.Root, op.Int{}, true
	case byService:
		return e.Service, op.Int{}, true
	case byPath:
		return e.Path, op.Int{}, true
	case byRank:
		return "", e.Rank, true
	case byStream:
		return "", e.Stream, true
	}
	return "", op.Int{}, false
}

func appendCounted(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// value returns e's value of the key.
func (k Key) value(e *op.Entry) KeyValue {
	switch k.field {
	case byOperation:
		return textValue(e.Operation)
	case byKind:
		return textValue(e.Kind.String())
	case byDevice:
		return KeyValue{Text: e.DeviceID, Known: e.HasDevice()}
	case byRank:
		return intValue(e.Rank)
	case byStream:
		return intValue(e.Stream)
	case byShape:
		return textValue(string(e.AppendShapes(nil)))
	case byStep:
		return intValue(e.Step)
	case byRoot:
		return textValue(e.Root)
	case byService:
		return textValue(e.Service)
	case byPath:
		return textValue(e.Path)
	case byTrace:
		if e.TraceID.IsZero() || e.TraceID.IsLocal() {
			return KeyValue{}
		}
		return textValue(e.TraceID.String())
	case byAttr:
		for _, a := range e.Attrs {
			if a.Key == k.attr {
				return KeyValue{Text: a.Value, Known: true}
			}
		}
	}
	return KeyValue{}
}

// appendKeyValues appends what appendKeys appends for entries that have the values of the
// keys. It fails where no entry has them.
func appendKeyValues(dst []byte, keys []Key, values []KeyValue) ([]byte, error) {
	if len(keys) != len(values) {
		return nil, fmt.Errorf("there are %d values of %d keys", len(values), len(keys))
	}
	for i, k := range keys {
		var ok bool
		if dst, ok = k.appendValue(dst, values[i]); !ok {
			return nil, fmt.Errorf("%.100q is no value of the key %s", values[i].Text, k)
		}
	}
	return dst, nil
}

// appendValue appends what appendTo appends for an entry that has the value.
func (k Key) appendValue(dst []byte, v KeyValue) (_ []byte, ok bool) {
	switch k.field {
	case byRank, byStream, byStep:
		return appendInt(dst, v.Number), v.Number.Known == v.Known
	case byDevice, byAttr:
		if !v.Known {
			return append(dst, 0), true
		}
		dst = appendCounted(append(dst, 1), v.Text)
	case byOperation, byRoot, byService, byPath:
		dst = appendCounted(dst, v.Text)
	case byShape:
		dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(v.Text)+4)), v.Text...)
	case byKind:
		kind, ok := op.ParseKind(v.Text)
		return append(dst, byte(kind)), (ok || !v.Known) && !v.Number.Known
	case byTrace:
		var id op.TraceID
		ok := !v.Known || id.UnmarshalText([]byte(v.Text)) == nil
		return append(dst, id[:]...), ok && !v.Number.Known
	}
	return dst, !v.Number.Known
}

// appendKeys appends e's values of the keys in a form that differs for different
// ones.
func appendKeys(dst []byte, keys []Key, e *op.Entry) []byte {
	for _, k := range keys {
		dst = k.appendTo(dst, e)
	}
	return dst
}

// cutKeys returns the values in a text of appendKeys.
func cutKeys(text string, keys []Key) []KeyValue {
	values := make([]KeyValue, len(keys))
	for i, k := range keys {
		values[i], text = k.cut(text)
	}
	return values
}

// cut returns the value at the beginning of a text of appendTo, and what follows
// it.
func (k Key) cut(text string) (v KeyValue, rest string) {
	switch k.field {
	case byOperation, byRoot, byService, byPath:
		value, rest := cutCounted(text)
		return textValue(value), rest
	case byKind:
		return textValue(op.Kind(text[0]).String()), text[1:]
	case byRank, byStream, byStep:
		i, rest := cutInt(text)
		return intValue(i), rest
	case byShape:
		end := binary.BigEndian.Uint32([]byte(text[:4])) // counts its own four bytes
		return textValue(text[4:end]), text[end:]
	case byTrace:
		var e op.Entry
		n := copy(e.TraceID[:], text)
		return k.value(&e), text[n:]
	case byDevice, byAttr:
		if text[0] == 0 {
			return KeyValue{}, text[1:]
		}
		value, rest := cutCounted(text[1:])
		return KeyValue{Text: value, Known: true}, rest
	}
	return KeyValue{}, text
}

// cutCounted undoes appendCounted.
func cutCounted(text string) (value, rest string) {
	n, size := binary.Uvarint([]byte(text[:min(len(text), binary.MaxVarintLen64)]))
	end := size + int(n)
	return text[size:end], text[end:]
}

// cutInt undoes appendInt.
func cutInt(text string) (i op.Int, rest string) {
	if text[0] == 0 {
		return op.Int{}, text[1:]
	}
	return op.Known(int64(binary.BigEndian.Uint64([]byte(text[1:9])))), text[9:]
}

// appendInt appends an integer of the key of a row, distinct from an unknown
// one.
func appendInt(dst []byte, i op.Int) []byte {
	if !i.Known {
		return append(dst, 0)
	}
	return binary.BigEndian.AppendUint64(append(dst, 1), uint64(i.V))
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

// appendValues appends the values in a form that differs for different ones.
func appendValues(dst []byte, values []KeyValue) []byte {
	for _, v := range values {
		if !v.Known {
			dst = append(dst, 0)
			continue
		}
		dst = appendCounted(append(dst, 1), v.Text)
	}
	return dst
}
