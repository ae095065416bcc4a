package optest

import (
	"bytes"
	_ "embed" // the cases
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// The times of most cases.
const (
	start    = 1_700_000_000_123_456_000
	duration = 12_000
)

// The ids of most cases.
var (
	TraceID = op.TraceID{
		0x5b, 0x8e, 0xff, 0xf7, 0x98, 0x03, 0x81, 0x03, 0xd2, 0x69, 0xb6, 0x33, 0x81, 0x3f, 0xc6, 0x0c,
	}
	SpanID   = op.SpanID{0xee, 0xe1, 0x9b, 0x7e, 0xc3, 0xc1, 0xb1, 0x74}
	ParentID = op.SpanID{0xee, 0xe1, 0x9b, 0x7e, 0xc3, 0xc1, 0xb1, 0x73}
)

// casesText has a case per line:
//
//	{"name":…, "needs":[…], "attributes":[[key, value], …], "span":{…}, "want":{…}}
//
// span has the fields of [Span] that differ from baseSpan. want has the fields of [op.Entry] that differ from
// baseEntry; without want the span is no operation. Lists of one type are JSON arrays. Other values are {"list":[…]},
// {"map":[[key, value], …]}, {"ints":[]} for an empty list, {"float":"NaN"} and {"hex":…} for bytes that are not
// UTF-8. Numbers with a point or exponent are float64.
//
//go:embed cases.jsonl
var casesText []byte

func baseSpan() Span {
	return Span{
		Name: "span name", TraceID: TraceID, SpanID: SpanID, ParentSpanID: ParentID,
		Start: start, End: start + duration,
		Resource: []Attr{{attrkey.ServiceName, "trainer"}}, Scope: "example.com/engine",
	}
}

func baseEntry() *op.Entry {
	return &op.Entry{
		Operation: "matmul", Kind: op.KindCompute, KindRule: op.RuleDefault, Start: op.Known(start), Duration: duration,
		TraceID: TraceID, SpanID: SpanID, ParentSpanID: ParentID, Service: "trainer", Scope: "example.com/engine",
	}
}

// Cases returns all cases.
func Cases() []Case {
	var all []Case
	for line := range bytes.Lines(casesText) {
		var c struct {
			Name       string
			Needs      []string
			Attributes []Attr
			Span       json.RawMessage
			Want       map[string]json.RawMessage
		}
		decode(line, &c)
		s := baseSpan()
		s.Attributes = c.Attributes
		if c.Span != nil {
			decode(c.Span, &s)
		}
		loaded := Case{Name: c.Name, Span: s}
		for _, name := range c.Needs {
			loaded.Needs |= 1 << slices.Index(needNames, name)
		}
		if c.Want != nil {
			loaded.Want = baseEntry()
			for name, text := range c.Want {
				setField(reflect.ValueOf(loaded.Want).Elem().FieldByName(name), text)
			}
		}
		all = append(all, loaded)
	}
	return append(all, tooManyInputs())
}

// tooManyInputs has one input more than an entry keeps.
func tooManyInputs() Case {
	s := baseSpan()
	s.Attributes = []Attr{
		{attrkey.Name, "matmul"}, {attrkey.InputShapes, strings.Split(strings.Repeat("2,", op.MaxInputs)+"2", ",")},
	}
	e := baseEntry()
	e.InputShapes = slices.Repeat([]op.Shape{{2}}, op.MaxInputs)
	e.Warn = op.WarnShapeTruncated
	return Case{Name: "inputs/too many", Span: s, Want: e}
}

func decode(text []byte, to any) {
	if err := json.Unmarshal(text, to); err != nil {
		panic(fmt.Sprintf("cases.jsonl: %v: %s", err, text)) // embedded
	}
}

// setField sets a field of an entry. Enumerations are names.
func setField(field reflect.Value, text []byte) {
	var name string
	switch to := field.Addr().Interface().(type) {
	case *op.Kind:
		decode(text, &name)
		*to, _ = op.ParseKind(name)
	case *op.KindRule:
		decode(text, &name)
		*to, _ = op.ParseKindRule(name)
	case *op.Side:
		*to = op.SideHost // the only name
	case *op.Warning:
		var names []string
		decode(text, &names)
		for _, name := range names {
			w, _ := op.ParseWarning(name)
			*to |= w
		}
	default:
		decode(text, to)
	}
}

// UnmarshalJSON decodes [key, value].
func (a *Attr) UnmarshalJSON(text []byte) error {
	var pair [2]json.RawMessage
	decode(text, &pair)
	decode(pair[0], &a.Key)
	a.Value = decodeValue(pair[1])
	return nil
}

func decodeValue(text []byte) any {
	switch text[0] {
	case '"':
		return decodeAs[string](text)
	case 't', 'f':
		return decodeAs[bool](text)
	case '[':
		switch decodeValue(decodeAs[[]json.RawMessage](text)[0]).(type) {
		case string:
			return decodeAs[[]string](text)
		case bool:
			return decodeAs[[]bool](text)
		case int64:
			return decodeAs[[]int64](text)
		}
		var list []float64
		for _, e := range decodeAs[[]json.RawMessage](text) {
			list = append(list, decodeValue(e).(float64))
		}
		return list
	case '{':
		return decodeSpecial(text)
	}
	if bytes.ContainsAny(text, ".e") {
		return decodeAs[float64](text)
	}
	return decodeAs[int64](text)
}

func decodeAs[T any](text []byte) (v T) {
	decode(text, &v)
	return v
}

// decodeSpecial decodes a value that JSON lacks.
func decodeSpecial(text []byte) any {
	var v struct {
		List       []json.RawMessage
		Map        Map
		Ints       []int64
		Float, Hex string
	}
	decode(text, &v)
	switch {
	case v.List != nil:
		list := List{}
		for _, e := range v.List {
			list = append(list, decodeValue(e))
		}
		return list
	case v.Map != nil:
		return v.Map
	case v.Float == "+Inf":
		return math.Inf(1)
	case v.Float != "":
		return math.NaN()
	case v.Hex != "":
		b, _ := hex.DecodeString(v.Hex)
		return string(b)
	}
	return v.Ints
}

// Run runs every case as a subtest. convert turns the span of a case into an entry, or returns false if
// the span is no operation. It skips the test if its format lacks a need of the case. convert removes the
// root and warnings of its format, such as op.WarnMicroseconds.
func Run(t *testing.T, convert func(t *testing.T, c Case) (*op.Entry, bool)) {
	t.Helper()
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			got, ok := convert(t, c)
			if !ok {
				got = nil
			}
			if diff := cmp.Diff(c.Want, got); diff != "" {
				t.Fatalf("entry (-want +got):\n%s", diff)
			}
			if got == nil {
				return
			}
			if err := got.Validate(); err != nil {
				t.Errorf("the entry is not valid: %v", err)
			}
		})
	}
}
