package otlp_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/optrace/optrace/internal/testing/check"
)

// shuffleJSON returns the document with shuffled and unknown members, indented or not, with numbers, ids and enums in
// other valid forms.
func shuffleJSON(t *testing.T, rng *rand.Rand, text []byte) []byte {
	t.Helper()
	var tree any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	check.OK(t, dec.Decode(&tree))
	var b strings.Builder
	space := ""
	if rng.IntN(2) == 0 {
		space = "\n  "
	}
	writeShuffled(&b, rng, tree, "", space)
	return []byte(b.String())
}

func writeShuffled(b *strings.Builder, rng *rand.Rand, tree any, name, space string) {
	switch v := tree.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v)+1)
		for k := range v {
			keys = append(keys, k)
		}
		if len(v) > 0 && rng.IntN(4) == 0 {
			keys = append(keys, "unknownMember")
		}
		rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		b.WriteString("{")
		for i, k := range keys {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(space + strconv.Quote(k) + ":" + space)
			if member, ok := v[k]; ok {
				writeShuffled(b, rng, member, k, space)
			} else {
				b.WriteString(`[{"a":["}"]},null,-1.5e-3,"\""]`)
			}
		}
		b.WriteString(space + "}")
	case []any:
		b.WriteString("[")
		for i, e := range v {
			if i > 0 {
				b.WriteString("," + space)
			}
			writeShuffled(b, rng, e, "", space)
		}
		b.WriteString("]")
	default:
		b.WriteString(respell(rng, v, name))
	}
}

// respell returns a scalar in one of its valid forms.
func respell(rng *rand.Rand, v any, name string) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	s, isString := v.(string)
	if rng.IntN(2) == 0 {
		return string(text)
	}
	switch name {
	case "intValue", "startTimeUnixNano", "endTimeUnixNano":
		if isString {
			return s
		}
	case "traceId", "spanId", "parentSpanId":
		return strings.ToUpper(string(text))
	case "code":
		return map[string]string{"1": `"STATUS_CODE_OK"`, "2": `"STATUS_CODE_ERROR"`}[string(text)]
	}
	return string(text)
}

// naiveJSON returns a value as JSON.
func naiveJSON(v *commonpb.AnyValue) string {
	var parts []string
	switch v := v.Value.(type) {
	case *commonpb.AnyValue_ArrayValue:
		for _, e := range v.ArrayValue.Values {
			parts = append(parts, naiveJSON(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case *commonpb.AnyValue_KvlistValue:
		for _, e := range v.KvlistValue.Values {
			parts = append(parts, quoteJSON(e.Key)+":"+naiveJSON(e.Value))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case *commonpb.AnyValue_StringValue:
		return quoteJSON(v.StringValue)
	case *commonpb.AnyValue_BytesValue:
		return `{"bytesValue":` + quoteJSON(base64.StdEncoding.EncodeToString(v.BytesValue)) + `}`
	case *commonpb.AnyValue_IntValue:
		return strconv.FormatInt(v.IntValue, 10)
	case *commonpb.AnyValue_BoolValue:
		return strconv.FormatBool(v.BoolValue)
	case *commonpb.AnyValue_DoubleValue:
		f := v.DoubleValue
		switch {
		case math.IsNaN(f):
			return `{"doubleValue":"NaN"}`
		case math.IsInf(f, 0):
			return `{"doubleValue":"` + strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+") + `inity"}`
		case f == math.Trunc(f) && math.Abs(f) < 1e21:
			return strconv.FormatFloat(f, 'f', 1, 64)
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return "null"
}

func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
