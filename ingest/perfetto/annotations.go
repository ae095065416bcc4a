package perfetto

import (
	"math"
	"strconv"

	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/internal/text/scalar"
)

type annotator struct {
	seq *sequence
	// hasJSON is set if a value was JSON, unknown if a name or text is not interned.
	hasJSON, unknown bool
	bad              *bool // see fields
	large            bool  // there is too much
}

// member appends an annotation as a member of an object, with a comma unless it is the first.
func (a *annotator) member(dst []byte, b []byte, depth int) []byte {
	key, ok := "", false
	f := fieldsOf(b, a.bad)
	for f.next() {
		switch f.Field {
		case annotationNameIID:
			key, ok = a.seq.keys[f.n]
			a.unknown = a.unknown || !ok
		case annotationName:
			key, ok = string(f.data), true
		}
	}
	if !ok || *a.bad || a.isLarge(dst) {
		return dst
	}
	dst = append(scalar.AppendString(comma(dst), key), ':')
	return a.value(dst, key, b, depth)
}

// comma appends a comma unless the open list or object is empty.
func comma(dst []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' && dst[n-1] != '[' {
		return append(dst, ',')
	}
	return dst
}

func (a *annotator) isLarge(dst []byte) bool {
	a.large = a.large || len(dst) > MaxAnnotationBytes
	return a.large
}

// value appends the value of an annotation, null if it has none.
func (a *annotator) value(dst []byte, key string, b []byte, depth int) []byte {
	start := len(dst)
	open := byte(0) // the closing bracket of a list or an object
	f := fieldsOf(b, a.bad)
	for f.next() && !a.isLarge(dst) {
		switch f.Field {
		case annotationEntries, annotationArray:
			if depth >= maxDepth {
				continue
			}
			if f.Field == annotationEntries {
				dst, open = a.enter(dst, start, open, '{')
				dst = a.member(dst, f.data, depth+1)
			} else {
				dst, open = a.enter(dst, start, open, '[')
				dst = a.value(comma(dst), "", f.data, depth+1)
			}
		case annotationNested:
			dst = a.nested(dst[:start], f.data)
			open = 0
		default:
			if next, ok := a.single(dst, start, key, &f); ok {
				dst = next
				open = 0
			}
		}
	}
	switch {
	case open != 0:
		return append(dst, open)
	case len(dst) == start:
		return append(dst, "null"...)
	}
	return dst
}

// enter opens a list or an object in place of another value.
func (a *annotator) enter(dst []byte, start int, open, with byte) ([]byte, byte) {
	if with+2 == open { // '{' and '}', '[' and ']'
		return dst, open
	}
	return append(dst[:start], with), with + 2
}

// single replaces dst from start on by the value of a field. ok is false if the field is no scalar.
func (a *annotator) single(dst []byte, start int, key string, f *fields) ([]byte, bool) {
	to := dst[:start]
	switch f.Field {
	case annotationBool:
		return strconv.AppendBool(to, f.n != 0), true
	case annotationUint:
		return strconv.AppendUint(to, f.n, 10), true
	case annotationInt:
		return strconv.AppendInt(to, int64(f.n), 10), true
	case annotationDouble:
		return scalar.AppendDouble(to, math.Float64frombits(f.n)), true
	case annotationString:
		return a.text(to, key, string(f.data)), true
	case annotationTextIID:
		text, ok := a.seq.texts[f.n]
		a.unknown = a.unknown || !ok
		return a.text(to, key, text), true
	case annotationPointer:
		return scalar.AppendString(to, "0x"+strconv.FormatUint(f.n, 16)), true
	case annotationJSON:
		return a.json(to, f.data), true
	}
	return dst, false
}

// text appends a text. Kineto's lists may be a text of JSON.
func (a *annotator) text(dst []byte, key, text string) []byte {
	switch key {
	case "Input Dims", "Input dims", "Input type", "Concrete Inputs":
		if text != "" && text[0] == '[' && isJSON([]byte(text)) {
			return a.json(dst, []byte(text))
		}
	}
	return scalar.AppendString(dst, text)
}

func (a *annotator) json(dst, text []byte) []byte {
	if !isJSON(text) {
		return scalar.AppendString(dst, string(text))
	}
	a.hasJSON = true
	return append(dst, text...)
}

func isJSON(text []byte) bool {
	var l lexer.Lexer
	l.Reset(text)
	l.Skip()
	l.End()
	return l.Err() == nil
}

// nested appends a value of the older kind. Current writers use it for an empty list or object; a non-empty one is
// unknown.
func (a *annotator) nested(dst, b []byte) []byte {
	text := "null"
	f := fieldsOf(b, a.bad)
	for f.next() {
		switch {
		case f.Field == nestedType && f.n == isDict:
			text = "{}"
		case f.Field == nestedType && f.n == isArray:
			text = "[]"
		default:
			text = "null"
		}
	}
	return append(dst, text...)
}
