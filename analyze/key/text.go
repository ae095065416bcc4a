package key

import (
	"encoding/binary"
	"fmt"

	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/op"
)

// form is the encoding of a key's values. Encodings are self-delimiting and injective, so values can be concatenated.
// Partial results contain them.
type form uint8

const (
	formText     form = iota // a text; "" means unknown
	formOptional             // a text, possibly "", or unknown
	formInt
	formKind
	formShape // four bytes of length, then op.Entry.AppendShapes
	formTrace // 16 bytes
)

// Append appends e's values of the keys. Different values have different encodings.
func Append(dst []byte, keys []Key, e *op.Entry) []byte {
	for _, k := range keys {
		dst = k.appendTo(dst, e)
	}
	return dst
}

// Of returns e's values of the keys.
func Of(keys []Key, e *op.Entry) []Value {
	return Decode(string(Append(nil, keys, e)), keys)
}

// Decode returns the values in a result of Append.
func Decode(text string, keys []Key) []Value {
	values := make([]Value, len(keys))
	for i, k := range keys {
		values[i], text = k.Decode(text)
	}
	return values
}

// Cut returns the values in a result of Append.
//
// Deprecated: use [Decode].
func Cut(text string, keys []Key) []Value { return Decode(text, keys) }

// appendTo appends e's value of the key without allocating.
func (k Key) appendTo(dst []byte, e *op.Entry) []byte {
	p := &properties[k.field]
	switch p.form {
	case formText:
		return AppendCounted(dst, p.text(e))
	case formOptional:
		text, ok := k.optional(e)
		if !ok {
			return append(dst, 0)
		}
		return AppendCounted(append(dst, 1), text)
	case formInt:
		return AppendInt(dst, p.number(e))
	case formKind:
		return append(dst, byte(e.Kind))
	case formShape:
		start := len(dst)
		dst = opfile.AppendShapes(append(dst, 0, 0, 0, 0), e)
		binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start))
		return dst
	}
	if opfile.IsLocal(e.TraceID) { // no trace of the input
		return append(dst, make([]byte, len(e.TraceID))...)
	}
	return append(dst, e.TraceID[:]...)
}

// optional returns e's value of a key with form formOptional.
func (k Key) optional(e *op.Entry) (text string, ok bool) {
	switch k.field {
	case byDevice:
		return e.DeviceID, e.HasDevice()
	case byError:
		return e.Error, e.Failed
	}
	for _, a := range e.Attrs {
		if a.Key == k.attr {
			return a.Value, true
		}
	}
	return "", false
}

// Decode returns the value at the start of a result of Append, and the rest of text.
func (k Key) Decode(text string) (v Value, rest string) {
	switch properties[k.field].form {
	case formText:
		value, rest := cutCounted(text)
		return textValue(value), rest
	case formOptional:
		if text[0] == 0 {
			return Value{}, text[1:]
		}
		value, rest := cutCounted(text[1:])
		return Value{Text: value, Known: true}, rest
	case formInt:
		if text[0] == 0 {
			return Value{}, text[1:]
		}
		i := op.Known(int64(binary.BigEndian.Uint64([]byte(text[1:9]))))
		return Value{Text: i.String(), Known: true, Number: i}, text[9:]
	case formKind:
		return textValue(op.Kind(text[0]).String()), text[1:]
	case formShape:
		end := binary.BigEndian.Uint32([]byte(text[:4]))
		return textValue(text[4:end]), text[end:]
	}
	var id op.TraceID
	n := copy(id[:], text)
	if id.IsZero() {
		return Value{}, text[n:]
	}
	return textValue(id.String()), text[n:]
}

// Cut returns the value at the start of text, and the rest.
//
// Deprecated: use [Key.Decode].
func (k Key) Cut(text string) (v Value, rest string) { return k.Decode(text) }

// AppendValues appends the encoding of values. It returns an error if no entry can have them.
func AppendValues(dst []byte, keys []Key, values []Value) ([]byte, error) {
	if len(keys) != len(values) {
		return nil, fmt.Errorf("%d values for %d keys", len(values), len(keys))
	}
	for i, k := range keys {
		var ok bool
		if dst, ok = k.appendValue(dst, values[i]); !ok {
			return nil, fmt.Errorf("%.100q is not a value of key %s", values[i].Text, k)
		}
	}
	return dst, nil
}

// appendValue appends the encoding of v. ok is false if no entry can have v.
func (k Key) appendValue(dst []byte, v Value) (_ []byte, ok bool) {
	switch properties[k.field].form {
	case formText:
		dst = AppendCounted(dst, v.Text)
	case formOptional:
		if !v.Known {
			return append(dst, 0), true
		}
		dst = AppendCounted(append(dst, 1), v.Text)
	case formInt:
		return AppendInt(dst, v.Number), v.Number.Known == v.Known
	case formKind:
		kind, ok := op.ParseKind(v.Text)
		return append(dst, byte(kind)), (ok || !v.Known) && !v.Number.Known
	case formShape:
		dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(v.Text)+4)), v.Text...)
	case formTrace:
		var id op.TraceID
		ok := !v.Known || id.UnmarshalText([]byte(v.Text)) == nil
		return append(dst, id[:]...), ok && !v.Number.Known
	}
	return dst, !v.Number.Known
}

// AppendDistinct appends values in an injective encoding that does not depend on their keys.
func AppendDistinct(dst []byte, values []Value) []byte {
	for _, v := range values {
		if !v.Known {
			dst = append(dst, 0)
			continue
		}
		dst = AppendCounted(append(dst, 1), v.Text)
	}
	return dst
}

// AppendCounted appends the length of s and s.
func AppendCounted(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func cutCounted(text string) (value, rest string) {
	n, size := binary.Uvarint([]byte(text[:min(len(text), binary.MaxVarintLen64)]))
	end := size + int(n)
	return text[size:end], text[end:]
}

// AppendInt appends an integer or its absence in an injective encoding.
func AppendInt(dst []byte, i op.Int) []byte {
	if !i.Known {
		return append(dst, 0)
	}
	return binary.BigEndian.AppendUint64(append(dst, 1), uint64(i.V))
}
