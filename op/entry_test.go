package op_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// A new field of Entry must be set in RichEntry: the tests of the encoder, of the decoder and of Clone use it.
func TestRichEntryIsComplete(t *testing.T) {
	for _, v := range []reflect.Value{
		reflect.ValueOf(*optest.RichEntry()), reflect.ValueOf(*optest.RichEntry().Collective),
		reflect.ValueOf(*optest.RichExtra()),
		reflect.ValueOf(optest.RichExtra().Scope), reflect.ValueOf(optest.RichExtra().Events[0]),
	} {
		for i := range v.NumField() {
			// An entry with a device has no empty one, and lines do not hold the host.
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "EmptyDevice" && name != "Host" {
				t.Errorf("%s.%s is not set", v.Type(), v.Type().Field(i).Name)
			}
		}
	}
}

func TestValidate(t *testing.T) {
	if err := optest.RichEntry().Validate(); err != nil {
		t.Fatalf("the entry without a violation: %v", err)
	}
	for _, test := range []struct {
		want   string
		change func(*op.Entry)
	}{
		{"operation is empty", func(e *op.Entry) { e.Operation = "" }},
		{`operation is not UTF-8: "a\xff"`, func(e *op.Entry) { e.Operation = "a\xff" }},
		{`device_id is not UTF-8: "\xff"`, func(e *op.Entry) { e.DeviceID = "\xff" }},
		{`error is not UTF-8: "\xff"`, func(e *op.Entry) { e.Error = "\xff" }},
		{`service is not UTF-8: "\xff"`, func(e *op.Entry) { e.Service = "\xff" }},
		{"duration is negative: -1 ns", func(e *op.Entry) { e.Duration = -1 }},
		{"the end does not fit: start 9223372036854775807, duration 12600 ns",
			func(e *op.Entry) { e.Start = op.Known(math.MaxInt64) }},
		{"unknown kind: 0", func(e *op.Entry) { e.Kind = op.KindUnknown }},
		{"unknown kind: 77", func(e *op.Entry) { e.Kind = 77 }},
		{"output_shape has a dimension of -2", func(e *op.Entry) { e.OutputShape = op.Shape{-2} }},
		{"input_shapes[1] has a dimension of -7", func(e *op.Entry) { e.InputShapes = []op.Shape{{1}, {2, -7}} }},
		{"output_shape has more than 64 dimensions", func(e *op.Entry) { e.OutputShape = make(op.Shape, 65) }},
		{"more than 1024 input shapes", func(e *op.Entry) { e.InputShapes = make([]op.Shape, 1025) }},
		{"output_elements is negative: -1", func(e *op.Entry) { e.OutputElements = op.Known(-1) }},
		{"memory_bytes is negative: -1", func(e *op.Entry) { e.MemoryBytes = op.Known(-1) }},
		{`device_id is marked empty: "cuda:0"`, func(e *op.Entry) { e.DeviceID, e.EmptyDevice = "cuda:0", true }},
		{"flops is negative: -1", func(e *op.Entry) { e.FLOPs = op.Known(-1) }},
		{"rank is negative: -1", func(e *op.Entry) { e.Rank = op.Known(-1) }},
		{"flops is unknown but not 0: 5", func(e *op.Entry) { e.FLOPs = op.Int{V: 5} }},
		{`an error, but not failed: "x"`, func(e *op.Entry) { e.Failed, e.Error = false, "x" }},
		{"adjusted_count is 0.5", func(e *op.Entry) { e.AdjustedCount = 0.5 }},
		{"adjusted_count is -1", func(e *op.Entry) { e.AdjustedCount = -1 }},
		{"adjusted_count is NaN", func(e *op.Entry) { e.AdjustedCount = math.NaN() }},
		{"adjusted_count is +Inf", func(e *op.Entry) { e.AdjustedCount = math.Inf(1) }},
		{"a parent without a trace", func(e *op.Entry) { e.TraceID = op.TraceID{} }},
		{"unknown warnings: 0x80000000", func(e *op.Entry) { e.Warn = 1 << 31 }},
	} {
		e := optest.RichEntry()
		test.change(e)
		if err := e.Validate(); err == nil || err.Error() != test.want {
			t.Errorf("Validate() = %v, want %s", err, test.want)
		}
	}
	e := optest.RichEntry()
	e.OutputShape = make(op.Shape, op.MaxRank)
	e.InputShapes = make([]op.Shape, op.MaxInputs)
	e.Start = op.Known(math.MaxInt64 - e.Duration)
	e.Warn = op.WarnDroppedLinks<<1 - 1
	if err := e.Validate(); err != nil {
		t.Errorf("what is just allowed: %v", err)
	}
	e.Duration, e.AdjustedCount = 0, 1
	for _, v := range []*op.Int{&e.OutputElements, &e.MemoryBytes, &e.FLOPs, &e.Rank} {
		*v = op.Known(0)
	}
	if err := e.Validate(); err != nil {
		t.Errorf("the least that is allowed: %v", err)
	}
	e.Operation = ""
	e.Duration = -1
	if err := e.Validate(); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("two violations give %v", err)
	}
}

// Each field of an Extra by itself is written and reads back.
func TestExtra(t *testing.T) {
	if none := new(op.Extra); !none.IsZero() || string(none.AppendJSON(nil)) != "{}" {
		t.Errorf("nothing is %s", none.AppendJSON(nil))
	}
	each := func(rich reflect.Value, part func(*op.Extra) reflect.Value) {
		for i := range rich.NumField() {
			one := new(op.Extra)
			part(one).Field(i).Set(rich.Field(i))
			line := (&op.Entry{Operation: "a", Extra: one}).AppendJSON(nil)
			check.Equal(t, string(line), one, check.Must(entries.DecodeLine(line))(t).Entry.Extra)
		}
	}
	rich := reflect.ValueOf(optest.RichExtra()).Elem()
	each(rich, func(x *op.Extra) reflect.Value { return reflect.ValueOf(x).Elem() })
	each(rich.FieldByName("Scope"), func(x *op.Extra) reflect.Value { return reflect.ValueOf(&x.Scope).Elem() })
}

func TestDerivedMemory(t *testing.T) {
	for dtype, want := range map[op.DType]int64{"": 24, op.F32: 12, "mystery": 24} {
		e := op.Entry{OutputElements: op.Known(3), DType: dtype}
		if opmodel.SetDerivedMemory(&e); e.MemoryBytes != op.Known(want) {
			t.Errorf("3 elements of %q are %v bytes, want %d", dtype, e.MemoryBytes, want)
		}
	}
}

func TestClone(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	all := []*op.Entry{optest.RichEntry(), {}, {InputShapes: []op.Shape{}, OutputShape: op.Shape{},
		InputDTypes: []op.DType{}}}
	for range 200 {
		all = append(all, optest.RandomEntry(r))
	}
	for _, e := range all {
		c := e.Clone()
		if diff := cmp.Diff(e, c); diff != "" {
			t.Fatalf("clone (-original +clone):\n%s", diff)
		}
		keep := c.Clone()
		scribble(e)
		if diff := cmp.Diff(keep, c); diff != "" {
			t.Fatalf("the clone changed with the original:\n%s", diff)
		}
	}
}

func TestInt(t *testing.T) {
	for _, test := range []struct {
		n    op.Int
		text string
		json string
		or   int64
	}{
		{op.Int{}, "unknown", "null", 7}, {op.Known(0), "0", "0", 0}, {op.Known(-3), "-3", "-3", -3},
		{op.Known(math.MinInt64), "-9223372036854775808", "-9223372036854775808", math.MinInt64},
	} {
		check.Equal(t, "String()", test.text, test.n.String())
		if got, err := json.Marshal(test.n); string(got) != test.json || err != nil {
			t.Errorf("JSON of %v = %s, %v, want %s", test.n, got, err, test.json)
		}
		check.Equal(t, fmt.Sprintf("%v.Or(7)", test.n), test.or, test.n.Or(7))
	}
}

func TestIDs(t *testing.T) {
	golden.Lines(t, "testdata/ids.txt", func(text string) string {
		trace, isTrace := op.ParseTraceID([]byte(text))
		span, isSpan := op.ParseSpanID([]byte(text))
		written := check.Must(json.Marshal([]any{trace, span}))(t)
		check.Equal(t, text, fmt.Sprintf("[%q,%q]", trace.String(), span.String()), string(written))
		return fmt.Sprintf("trace %v %t zero %t, span %v %t zero %t", trace, isTrace, trace.IsZero(), span, isSpan,
			span.IsZero())
	})
}

func TestPlaceholderTraceID(t *testing.T) {
	a := opfile.PlaceholderTraceID(1)
	b := opfile.PlaceholderTraceID(2)
	if a == b || !opfile.IsPlaceholder(a) || !opfile.IsPlaceholder(b) || a.IsZero() {
		t.Errorf("placeholders %s and %s", a, b)
	}
	if opfile.IsPlaceholder(op.TraceID{}) || opfile.IsPlaceholder(op.TraceID{0x5b}) {
		t.Error("an id is taken for a placeholder")
	}
}

func TestSkipReasonIsSpan(t *testing.T) {
	for r, want := range map[op.SkipReason]bool{
		op.SkipNonOp: true, op.SkipAnnotation: true, op.SkipPython: true, op.SkipRuntime: true, op.SkipUnpaired: true,
		op.SkipFlow: false, op.SkipMetadata: false, op.SkipOtherSignal: false, op.SkipUnknownRecord: false,
	} {
		check.Equal(t, fmt.Sprintf("%s.IsSpan()", r), want, r.IsSpan())
	}
}

func TestBlock(t *testing.T) {
	for text, want := range map[string][2]int64{"f16": {1, 2}, "q8_0": {32, 34}, "q4_K": {256, 144}, "q9_K": {1, 0},
		"": {1, 0}} {
		d, ok := op.ParseDType(text)
		if elements, bytes := d.Block(); [2]int64{elements, bytes} != want || ok != (bytes > 0) {
			t.Errorf("%q, %v: %d elements in %d bytes, want %v", text, ok, elements, bytes, want)
		}
	}
}

func TestParseDType(t *testing.T) {
	golden.Lines(t, "testdata/dtypes.txt", func(name string) string {
		d, known := op.ParseDType(name)
		return fmt.Sprintf("%d bytes, known %t: %s", d.Size(), known, d)
	})
}

// The names are separated by "; ".
func TestInferKind(t *testing.T) {
	golden.Lines(t, "testdata/kinds.txt", func(name string) string {
		kind, rule := op.InferKind(name)
		device, _ := op.InferDeviceKind(name)
		return fmt.Sprintf("%s by %s, %s on a device", kind, rule, device)
	})
}

func TestKindNames(t *testing.T) {
	for k := op.KindCompute; k <= op.KindControl; k++ {
		if got, ok := op.ParseKind(k.String()); got != k || !ok || k.String() == "" {
			t.Errorf("ParseKind(%q) = %v, %v", k, got, ok)
		}
	}
	for _, name := range []string{"", "Compute", "dance"} {
		if got, ok := op.ParseKind(name); got != op.KindUnknown || ok {
			t.Errorf("ParseKind(%q) = %v, %v", name, got, ok)
		}
	}
	check.Equal(t, "a kind and a rule beyond the last are called", "", op.Kind(6).String()+op.Kind(200).String()+
		op.KindRule(4).String()+op.KindRule(200).String())
	check.Equal(t, "an unknown class of errors is called", "other", op.ErrorClass(200).String())
}

func TestWarnings(t *testing.T) {
	set := op.WarnOverflow | op.WarnBadShape | op.WarnMicroseconds
	var names []string
	for w := range set.All() {
		names = append(names, w.String())
	}
	check.Equal(t, "names", []string{"bad_shape", "overflow", "us_truncated"}, names)
	for w := op.WarnBadShape; w <= op.WarnDroppedLinks; w <<= 1 {
		if back, ok := op.ParseWarning(w.String()); !ok || back != w || w.String() == "" {
			t.Errorf("warning %#x is called %q, which reads as %#x, %v", uint32(w), w, uint32(back), ok)
		}
	}
	if _, ok := op.ParseWarning(""); ok || (op.WarnDroppedLinks<<1).String() != "" || op.Warning(0).String() != "" {
		t.Error("there is a warning without a name")
	}
	for range set.All() {
		break // an iterator must stop when asked to
	}
}

func TestAttrJSON(t *testing.T) {
	types := map[string]op.AttrType{
		"int": op.AttrInt, "float": op.AttrFloat, "bool": op.AttrBool, "bytes": op.AttrBytes, "json": op.AttrJSON,
	}
	golden.Lines(t, "testdata/attrs.txt", func(line string) string {
		name, value, _ := strings.Cut(line, " ")
		a := op.Attr{Value: value, Type: types[name]}
		if name == "number" {
			a = opmodel.FloatAttr("", check.Must(strconv.ParseFloat(value, 64))(t))
		}
		return string(a.AppendJSONValue(nil))
	})
}

func TestShapeElements(t *testing.T) {
	golden.Lines(t, "testdata/elements.txt", func(dims string) string {
		shape := op.Shape{}
		if dims == "?" {
			shape = nil
		}
		for d := range strings.FieldsSeq(strings.TrimPrefix(dims, "?")) {
			shape = append(shape, check.Must(strconv.ParseInt(d, 10, 64))(t))
		}
		n, warn := shape.Elements()
		return strings.TrimSpace(n.String() + " " + warn.String())
	})
}

// The product is exact or unknown, never wrapped, against big integers.
func TestShapeElementsAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10000 {
		s := op.Shape{}
		want := big.NewInt(1)
		for range r.IntN(6) {
			d := int64(r.Uint64() >> (1 + r.IntN(63)))
			s = append(s, d)
			want.Mul(want, big.NewInt(d))
		}
		got, warn := s.Elements()
		if got.Known != want.IsInt64() || got.Known && got.V != want.Int64() || (warn == op.WarnOverflow) == got.Known {
			t.Fatalf("%v.Elements() = %v, %q, exactly %v", s, got, warn, want)
		}
	}
}

func TestShapeString(t *testing.T) {
	for want, s := range map[string]op.Shape{"?": nil, "scalar": {}, "5": {5}, "64x784": {64, 784}, "?x2": {-1, 2}} {
		check.Equal(t, fmt.Sprintf("%#v.String()", s), want, s.String())
	}
	for want, s := range map[string]op.Shape{"null": nil, "[]": {}, "[2,-1]": {2, -1}} {
		check.Equal(t, fmt.Sprintf("%#v", s), want, string(s.AppendJSON(nil)))
	}
}

func TestEnd(t *testing.T) {
	if got := (&op.Entry{Duration: 5}).End(); got.Known {
		t.Errorf("the end without a start is %v", got)
	}
	check.Equal(t, "the end", op.Known(15), (&op.Entry{Start: op.Known(10), Duration: 5}).End())
}

func TestThroughput(t *testing.T) {
	e := op.Entry{Duration: 100_000, OutputElements: op.Known(1000)}
	check.Equal(t, "elements per microsecond", 10, e.Throughput())
	check.Equal(t, "in no time", 0, (&op.Entry{OutputElements: op.Known(1000)}).Throughput())
	check.Equal(t, "unknown elements", 0, (&op.Entry{Duration: 5000}).Throughput())
}

// scribble overwrites all memory that e refers to.
func scribble(e *op.Entry) {
	for _, s := range append(e.InputShapes, e.OutputShape) {
		for i := range s {
			s[i] = -99
		}
	}
	clear(e.InputShapes)
	clear(e.InputDTypes)
	clear(e.Attrs)
	for _, l := range e.Links {
		if l.Extra != nil {
			clear(l.Extra.Attrs)
			*l.Extra = op.LinkExtra{}
		}
	}
	clear(e.Links)
	if e.Extra != nil {
		clear(e.Extra.Scope.Attrs)
		clear(e.Extra.Events[0].Attrs)
		clear(e.Extra.Events)
	}
	if e.Collective != nil {
		*e.Collective = op.Collective{Name: "scribble"}
	}
}
