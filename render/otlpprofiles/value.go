package otlpprofiles

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/wire"
)

// anyValue is the value of an attribute: a string, an int64, a float64, a bool, a []byte, a
// []anyValue, a []keyValue, or nil.
type anyValue struct{ of any }

// proto returns the message.
func (v *anyValue) proto() (f wire.Fields) {
	switch x := v.of.(type) {
	case string:
		return f.Element(1, x)
	case bool:
		return protowire.AppendVarint(protowire.AppendTag(f, 2, protowire.VarintType), protowire.EncodeBool(x))
	case int64:
		return protowire.AppendVarint(protowire.AppendTag(f, 3, protowire.VarintType), uint64(x))
	case float64:
		return protowire.AppendFixed64(protowire.AppendTag(f, 4, protowire.Fixed64Type), math.Float64bits(x))
	case []anyValue:
		var list wire.Fields
		for i := range x {
			list = list.Message(1, x[i].proto())
		}
		return f.Message(5, list)
	case []keyValue:
		var list wire.Fields
		for i := range x {
			list = list.Message(1, x[i].proto())
		}
		return f.Message(6, list)
	case []byte:
		return f.Message(7, x)
	}
	return f
}

func (a *keyValue) proto() wire.Fields {
	return wire.Fields(nil).Text(1, a.Key).Message(2, a.Value.proto())
}

// MarshalJSON implements [json.Marshaler].
func (v anyValue) MarshalJSON() ([]byte, error) {
	name, value := "", v.of
	switch x := v.of.(type) {
	case nil:
		return []byte("{}"), nil
	case string:
		name = "stringValue"
	case bool:
		name = "boolValue"
	case int64:
		name, value = "intValue", decimal(x)
	case float64:
		name = "doubleValue"
		if math.IsNaN(x) || math.IsInf(x, 0) {
			value = strings.Replace(strconv.FormatFloat(x, 'g', -1, 64), "+", "", 1)
			value = strings.Replace(value.(string), "Inf", "Infinity", 1)
		}
	case []byte:
		name = "bytesValue"
	case []anyValue:
		name, value = "arrayValue", map[string]any{"values": x}
	case []keyValue:
		name, value = "kvlistValue", map[string]any{"values": x}
	}
	return json.Marshal(map[string]any{name: value})
}

// valueOf returns the value of an attribute. One that is none of its type is text.
func valueOf(a *op.Attr) anyValue {
	switch a.Type {
	case op.AttrInt:
		if n, err := strconv.ParseInt(a.Value, 10, 64); err == nil {
			return anyValue{n}
		}
	case op.AttrFloat:
		if x, err := strconv.ParseFloat(a.Value, 64); err == nil {
			return anyValue{x}
		}
	case op.AttrBool:
		if b, err := strconv.ParseBool(a.Value); err == nil {
			return anyValue{b}
		}
	case op.AttrBytes:
		if b, err := base64.StdEncoding.DecodeString(a.Value); err == nil {
			return anyValue{b}
		}
	case op.AttrJSON:
		dec := json.NewDecoder(strings.NewReader(a.Value))
		dec.UseNumber()
		var x any
		if dec.Decode(&x) == nil {
			return jsonValue(x)
		}
	}
	return anyValue{stacks.Clean(a.Value)}
}

// jsonValue returns the value that JSON stands for, as op.AttrJSON describes it.
func jsonValue(x any) anyValue {
	switch x := x.(type) {
	case string:
		return anyValue{stacks.Clean(x)}
	case bool:
		return anyValue{x}
	case json.Number:
		if n, err := x.Int64(); err == nil && !strings.ContainsAny(x.String(), ".eE") {
			return anyValue{n}
		}
		number, _ := x.Float64() // an infinity where it is too large
		return anyValue{number}
	case []any:
		list := []anyValue{}
		for _, element := range x {
			list = append(list, jsonValue(element))
		}
		return anyValue{list}
	case map[string]any:
		if text, ok := x["bytesValue"].(string); ok && len(x) == 1 {
			return valueOf(&op.Attr{Value: text, Type: op.AttrBytes})
		}
		if text, ok := x["doubleValue"].(string); ok && len(x) == 1 {
			return valueOf(&op.Attr{Value: text, Type: op.AttrFloat})
		}
		list := []keyValue{}
		for _, key := range slices.Sorted(maps.Keys(x)) {
			list = append(list, keyValue{stacks.Clean(key), jsonValue(x[key])})
		}
		return anyValue{list}
	}
	return anyValue{}
}
