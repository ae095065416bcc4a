package attrmap

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/text/scalar"
	"github.com/optrace/optrace/op"
)

// Str adds an attribute with a string value.
func (b *Builder) Str(key, v string) { b.SetStr(b.Target(key), v) }

// SetStr is [Builder.Str] for a target.
func (b *Builder) SetStr(to Target, v string) {
	if to.to.keep || to.to.field.isText() {
		v = b.text(v)
	}
	b.SetText(to, v)
}

// SetText is [Builder.SetStr] for valid UTF-8.
func (b *Builder) SetText(to Target, v string) {
	t := to.to
	b.seen |= t.says
	if t.keep {
		b.keep(op.Attr{Key: to.key, Value: v})
	}
	if !t.field.isText() {
		b.parse(t, v)
	} else if v != "" { // else like an absent attribute
		b.setText(t, v)
	}
}

func (b *Builder) parse(t *target, v string) {
	switch t.field {
	case FieldNone:
	case fieldKindRule, FieldRoot, fieldRootSpan, fieldLaunchedBy, fieldLaunchSpan, fieldStepName, fieldWarnings,
		fieldUnknown:
		b.setNote(t, v)
	case FieldInputShapes, FieldOutputShape, fieldInputShapeAt:
		b.setShapes(t, v)
	case FieldInputDTypes:
		b.setDTypeList(t, v)
	default:
		if n, ok := scalar.ParseInt([]byte(strings.TrimSpace(v))); ok {
			b.number(t, n)
		} else {
			b.bad(t.field)
		}
	}
}

// Int adds an attribute with an integer value.
func (b *Builder) Int(key string, v int64) { b.SetInt(b.Target(key), v) }

// SetInt is [Builder.Int] for a target.
func (b *Builder) SetInt(t Target, v int64) {
	b.seen |= t.to.says
	if t.to.keep {
		b.keep(op.Attr{Key: t.key, Value: strconv.FormatInt(v, 10), Type: op.AttrInt})
	}
	b.number(t.to, v)
}

// SetFloat adds an attribute with a floating-point value. An integral value within ±2^53 counts as an integer.
func (b *Builder) SetFloat(t Target, v float64) {
	b.seen |= t.to.says
	if t.to.keep {
		if (math.IsNaN(v) || math.IsInf(v, 0)) && !b.KeepsAll() {
			b.entry.Warn |= op.WarnNonFinite
		} else {
			b.keep(opmodel.FloatAttr(t.key, v))
		}
	}
	if t.to.field == FieldNone {
		return
	}
	if n, ok := scalar.IntegralFloat(v); ok {
		b.number(t.to, n)
	} else {
		b.bad(t.to.field)
	}
}

// SetBool adds an attribute with a boolean value.
func (b *Builder) SetBool(t Target, v bool) {
	if t.to.keep {
		b.keep(op.Attr{Key: t.key, Value: strconv.FormatBool(v), Type: op.AttrBool})
	}
	b.SetOther(t)
}

// claim takes t's field for t's family, unless a higher one has it. Within a family the last key wins.
func (b *Builder) claim(t *target) bool {
	if t.family < b.from[t.field] {
		return false
	}
	b.from[t.field] = t.family
	return true
}

// bad adds the warning about a value outside f's type or range.
func (b *Builder) bad(f Field) {
	switch f {
	case FieldNone:
	case FieldInputShapes, FieldOutputShape, fieldInputShapeAt:
		b.entry.Warn |= op.WarnBadShape
	case FieldMemory, FieldDeviceMemory:
		b.entry.Warn |= op.WarnBadMemory
	default:
		b.entry.Warn |= op.WarnBadValue
	}
}

func (b *Builder) text(v string) string {
	if !utf8.ValidString(v) {
		b.entry.Warn |= op.WarnInvalidUTF8
		return scalar.ValidUTF8(v)
	}
	return v
}

func (b *Builder) setText(t *target, v string) {
	e := &b.entry
	switch t.field {
	case FieldDType:
		d, ok := op.ParseDType(v)
		if !ok {
			e.Warn |= op.WarnUnknownDType
		}
		if b.claim(t) {
			e.DType = d
		}
	case FieldKind:
		k, ok := op.ParseKind(v)
		if !ok {
			k, ok = op.ParseKind(strings.ToLower(v))
		}
		if !ok {
			b.bad(t.field)
		} else if b.claim(t) {
			e.Kind = k
		}
	case FieldSide:
		if v != op.SideHost.String() {
			b.bad(t.field)
		} else if b.claim(t) {
			e.Side = op.SideHost
		}
	case FieldDeviceType:
		if b.claim(t) {
			b.deviceType = strings.ToLower(strings.TrimPrefix(v, "DeviceType."))
		}
	default:
		if b.claim(t) {
			*textOf[t.field](b) = v
		}
	}
}

// textOf and numberOf return the fields that take a text or a number unchanged.
var (
	textOf = [numFields]func(*Builder) *string{
		FieldName:       func(b *Builder) *string { return &b.entry.Operation },
		FieldPath:       func(b *Builder) *string { return &b.entry.Path },
		FieldPhase:      func(b *Builder) *string { return &b.entry.Phase },
		FieldDevice:     func(b *Builder) *string { return &b.entry.DeviceID },
		FieldCollective: func(b *Builder) *string { return &b.collective().Name },
		FieldGroup:      func(b *Builder) *string { return &b.collective().Group },
	}
	numberOf = [numFields]func(*Builder) *op.Int{
		FieldFLOPs:          func(b *Builder) *op.Int { return &b.entry.FLOPs },
		FieldOutputElements: func(b *Builder) *op.Int { return &b.entry.OutputElements },
		FieldDeviceIndex:    func(b *Builder) *op.Int { return &b.deviceIndex },
		FieldStream:         func(b *Builder) *op.Int { return &b.entry.Stream },
		FieldStep:           func(b *Builder) *op.Int { return &b.entry.Step },
		FieldMemory:         func(b *Builder) *op.Int { return &b.entry.MemoryBytes },
		FieldDeviceMemory:   func(b *Builder) *op.Int { return &b.deviceMemory },
		FieldGroupSize:      func(b *Builder) *op.Int { return &b.collective().GroupSize },
		FieldSequence:       func(b *Builder) *op.Int { return &b.collective().Sequence },
		FieldPeerRank:       func(b *Builder) *op.Int { return &b.collective().PeerRank },
		FieldInElements:     func(b *Builder) *op.Int { return &b.collective().InElements },
		FieldOutElements:    func(b *Builder) *op.Int { return &b.collective().OutElements },
		FieldRank:           func(b *Builder) *op.Int { return &b.entry.Rank },
		FieldLaunch:         func(b *Builder) *op.Int { return &b.entry.Launch },
	}
)

func (b *Builder) setNote(t *target, v string) {
	ok := true
	switch t.field {
	case fieldKindRule:
		b.kindRule, ok = op.ParseKindRule(v)
		if ok {
			b.claim(t)
		}
	case FieldRoot:
		b.entry.Root = b.text(v)
	case fieldRootSpan:
		b.entry.RootSpanID, ok = op.ParseSpanID([]byte(v))
	case fieldLaunchedBy:
		b.entry.LaunchedBy = b.text(v)
	case fieldLaunchSpan:
		b.entry.LaunchSpanID, ok = op.ParseSpanID([]byte(v))
	case fieldStepName:
		b.entry.StepName = b.text(v)
	case fieldWarnings:
		for name := range strings.SplitSeq(v, ",") {
			// Warnings of later versions are skipped.
			w, _ := op.ParseWarning(name)
			b.entry.Warn |= w
		}
	case fieldUnknown:
		b.unknown = b.text(v)
	}
	if !ok {
		b.bad(t.field)
	}
}

func (b *Builder) collective() *op.Collective {
	b.entry.Collective = &b.coll
	return &b.coll
}

func (b *Builder) number(t *target, v int64) {
	switch f := t.field; {
	case f == FieldNone:
		return
	case f == FieldDevice || f == FieldGroup:
		b.setText(t, strconv.FormatInt(v, 10))
		return
	case !f.isNumber() || v < 0 && !mayBeNegative(f):
		b.bad(f)
		return
	}
	if b.claim(t) && t.field != fieldWorldSize { // it belongs on the resource
		*numberOf[t.field](b) = op.Known(v)
	}
}

// mayBeNegative reports whether a negative number is valid: torch numbers the host's device -1.
func mayBeNegative(f Field) bool {
	return f == FieldDeviceIndex || f == FieldStep
}

func (b *Builder) setDTypeList(t *target, v string) {
	if !b.claim(t) {
		return
	}
	b.dtypes = b.dtypes[:0]
	v = strings.Trim(v, "[]() ")
	if v == "" {
		return
	}
	for part := range strings.SplitSeq(v, ",") {
		b.addDType(strings.Trim(part, ` '"`))
	}
}

func (b *Builder) addDType(v string) {
	if len(b.dtypes) == op.MaxInputs {
		b.entry.Warn |= op.WarnShapeTruncated
		return
	}
	d, _ := op.ParseDType(b.text(v))
	b.dtypes = append(b.dtypes, d)
}

// SetList adds a list, given as valid JSON in the form of [op.AttrJSON]:
//
//	[[64,784],[784,256]]   ["64x784","784x256"]   [[64,784],null]
func (b *Builder) SetList(to Target, text []byte) {
	t := to.to
	b.seen |= t.says
	value := ""
	if t.keep || t.field.isShape() {
		value = b.listTexts.String(text)
	}
	switch {
	case t.field.isShape():
		b.setShapes(t, value)
	case t.field != FieldInputDTypes:
		b.bad(t.field)
	case b.claim(t):
		b.setDTypes(text)
	}
	if t.keep {
		b.keep(op.Attr{Key: to.key, Value: value, Type: op.AttrJSON})
	}
}

// setDTypes reads the element types of the inputs from JSON. Any other value keeps its place.
func (b *Builder) setDTypes(list []byte) {
	b.dtypes = b.dtypes[:0]
	rest, _ := bytes.CutPrefix(bytes.TrimSpace(list), []byte("["))
	for element, rest := cutElement(rest); len(element) > 0; element, rest = cutElement(rest) {
		if element[0] == '"' {
			b.addDType(b.listTexts.String(unquote(element)))
			continue
		}
		b.bad(FieldInputDTypes)
		b.addDType("")
	}
}

// cutElement returns the first element of a JSON list without its opening bracket, and the elements behind it.
func cutElement(list []byte) (element, rest []byte) {
	depth := 0
	quoted := false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '[' || c == '{':
			depth++
		case depth > 0 && (c == ']' || c == '}'):
			depth--
		case depth == 0 && c == ']':
			return bytes.TrimSpace(list[:i]), nil
		case depth == 0 && c == ',':
			return bytes.TrimSpace(list[:i]), list[i+1:]
		}
	}
	return nil, nil
}

// unquote returns the text of a JSON string.
func unquote(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	text := ""
	_ = json.Unmarshal(quoted, &text) // valid by the contract of SetList
	return []byte(text)
}

// SetStrs adds an attribute with a list of strings.
func (b *Builder) SetStrs(t Target, v []string) {
	if t.to.field != FieldInputDTypes || t.to.keep {
		b.listText = scalar.AppendStrings(b.listText[:0], v)
		b.SetList(t, b.listText)
		return
	}
	b.seen |= t.to.says
	if b.claim(t.to) {
		b.dtypes = b.dtypes[:0]
		for _, s := range v {
			b.addDType(s)
		}
	}
}

func appendInts(dst []byte, v []int64) []byte {
	if v == nil {
		v = []int64{}
	}
	return op.Shape(v).AppendJSON(dst)
}

// Target is the destination of an attribute key's values in a [Builder]. Readers may look it up once per key.
type Target struct {
	key string
	to  *target
}

// Target returns the target of key, valid for this Builder.
func (b *Builder) Target(key string) Target { return Target{key: key, to: b.mapping.find(key)} }

// Wanted reports whether the values matter. If not, a reader need not decode them and calls SetOther.
func (t Target) Wanted() bool { return t.to.field != FieldNone || t.to.keep }

// WantsList reports whether the value is a list. A kept list as text is for SetList.
func (t Target) WantsList() bool { return t.to.field.isShape() || t.to.field == FieldInputDTypes }

// SetOther adds an attribute with a value useless for operations, such as a map. Its key counts.
func (b *Builder) SetOther(t Target) {
	b.seen |= t.to.says
	b.bad(t.to.field)
}

// Kept reports whether values of any type are kept.
func (t Target) Kept() bool { return t.to.keep }

// SetEmpty is SetOther for an attribute without a value.
func (b *Builder) SetEmpty(t Target) {
	b.SetOther(t)
	if b.KeepsAll() {
		b.keep(op.Attr{Key: t.key, Value: "null", Type: op.AttrJSON})
	}
}

// SetRaw is SetOther for a known value: JSON, or bytes in base64.
func (b *Builder) SetRaw(t Target, typ op.AttrType, value []byte) {
	b.SetOther(t)
	if t.to.keep {
		b.keep(op.Attr{Key: t.key, Value: b.text(b.listTexts.String(value)), Type: typ})
	}
}

// SetInts adds an attribute with a slice of integers. It copies the slice.
func (b *Builder) SetInts(t Target, v []int64) {
	if t.to.field == FieldOutputShape && !t.to.keep && len(v) <= op.MaxRank && areDims(v) {
		b.seen |= t.to.says
		if b.claim(t.to) {
			b.setOutputShape(v, false)
		}
		return
	}
	b.listText = appendInts(b.listText[:0], v)
	b.SetList(t, b.listText)
}

// SetIntLists adds a list of lists of integers: consecutive in v, with the given ends.
func (b *Builder) SetIntLists(t Target, v []int64, ends []int) {
	if t.to.field == FieldInputShapes && !t.to.keep && b.areShapes(v, ends) {
		b.seen |= t.to.says
		if b.claim(t.to) {
			b.setInputShapes(v, ends)
		}
		return
	}
	text := append(b.listText[:0], '[')
	start := 0
	for i, end := range ends {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendInts(text, v[start:end])
		start = end
	}
	b.listText = append(text, ']')
	b.SetList(t, b.listText)
}

func areDims(v []int64) bool { return len(v) == 0 || slices.Min(v) >= op.Dynamic }

func (b *Builder) areShapes(v []int64, ends []int) bool {
	if len(ends) == 0 || len(ends) > op.MaxInputs {
		return false
	}
	start := 0
	for _, end := range ends {
		if end-start > op.MaxRank {
			return false
		}
		start = end
	}
	return areDims(v)
}

func (b *Builder) setInputShapes(v []int64, ends []int) {
	b.inputs = b.inputs[:0]
	b.inputDims = append(b.inputDims[:0], v...)
	if b.inputDims == nil {
		b.inputDims = make([]int64, 0, 4)
	}
	start := 0
	for _, end := range ends {
		b.inputs = append(b.inputs, op.Shape(b.inputDims[start:end:end]))
		start = end
	}
}
