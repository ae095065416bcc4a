package attrmap_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/record/convert"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/op"
)

// build returns the entry of a span with the name of an operation and the attributes that set adds.
func build(t *testing.T, m *attrmap.Mapping, set func(b *attrmap.Builder)) *op.Entry {
	t.Helper()
	b := attrmap.NewBuilder(m)
	b.Reset()
	b.Str(attrkey.Name, "matmul")
	set(b)
	e, ok := b.Entry()
	if !ok {
		t.Fatal("the span is no operation")
	}
	if err := e.Validate(); err != nil {
		t.Errorf("the entry is not valid: %v", err)
	}
	return e
}

func TestMappingAlias(t *testing.T) {
	m := &attrmap.Mapping{}
	m.Alias("my.step", attrkey.Step)
	m.Alias("my.shape", attrkey.OutputShape)
	e := build(t, m, func(b *attrmap.Builder) {
		b.Int("my.step", 3)
		b.Int("step", 4) // bare: yields
		b.Str("my.shape", "2x3")
	})
	if e.Step != op.Known(3) || !cmp.Equal(e.OutputShape, op.Shape{2, 3}) {
		t.Errorf("step %v, shape %v", e.Step, e.OutputShape)
	}
	e = build(t, m, func(b *attrmap.Builder) {
		b.Int(attrkey.Step, 5) // the convention wins
		b.Int("my.step", 3)
	})
	check.Equal(t, "step", op.Known(5), e.Step)
}

// A key of torch's still makes a span an operation when a user maps it.
func TestMappingAliasOfTorch(t *testing.T) {
	m := &attrmap.Mapping{}
	m.Alias("pytorch.module", attrkey.Path)
	b := attrmap.NewBuilder(m)
	b.Reset()
	b.SetName("aten::mm")
	b.Str("pytorch.module", "encoder")
	if e, ok := b.Entry(); !ok || e.Path != "encoder" || e.Operation != "aten::mm" {
		t.Errorf("entry %+v, %v", e, ok)
	}
	p := attrmap.NewPredicate(m)
	m.Alias("my.op", attrkey.Name)
	if aliased := attrmap.NewPredicate(m); !aliased.See("my.op") || !p.See("pytorch.module") {
		t.Error("a predicate does not know the aliases")
	}
}

func TestMappingKeep(t *testing.T) {
	m := &attrmap.Mapping{}
	for _, key := range []string{"s", "i", "f", "nan", "b", "list", "map", "twice", attrkey.Step, attrkey.InputShapes} {
		m.Keep(key)
	}
	e := build(t, m, func(b *attrmap.Builder) {
		b.Str("s", "a\xffb")
		b.Int("i", -5)
		b.SetFloat(b.Target("f"), 0.5)
		b.SetFloat(b.Target("nan"), math.NaN())
		b.SetBool(b.Target("b"), true)
		b.SetStrs(b.Target("list"), []string{"a", `"`})
		b.SetOther(b.Target("map"))
		b.Int("twice", 1)
		b.Int("twice", 2)
		b.Int("not asked for", 1)
		b.Int(attrkey.Step, 7)
		b.SetList(b.Target(attrkey.InputShapes), []byte("[[2,3.0],[],true]"))
	})
	want := []op.Attr{
		{Key: "s", Value: "a\ufffdb"}, {Key: "i", Value: "-5", Type: op.AttrInt},
		{Key: "f", Value: "0.5", Type: op.AttrFloat},
		{Key: "b", Value: "true", Type: op.AttrBool}, {Key: "list", Value: `["a","\""]`, Type: op.AttrJSON},
		{Key: "twice", Value: "2", Type: op.AttrInt}, {Key: attrkey.Step, Value: "7", Type: op.AttrInt},
		{Key: attrkey.InputShapes, Value: "[[2,3.0],[],true]", Type: op.AttrJSON},
	}
	check.Equal(t, "attributes", want, e.Attrs)
	if e.Step != op.Known(7) || !cmp.Equal(e.InputShapes, []op.Shape{{2, 3}, {}, nil}) {
		t.Errorf("kept keys lost their meaning: %+v", e)
	}
	if e.Warn != op.WarnInvalidUTF8|op.WarnNonFinite|op.WarnBadShape {
		t.Errorf("warnings are %#x", uint32(e.Warn))
	}
}

// An operation of a source without start times.
func TestSetDuration(t *testing.T) {
	e := build(t, nil, func(b *attrmap.Builder) { b.SetDuration(5) })
	if e.Duration != 5 || e.Start.Known || e.Warn != op.WarnNoStart {
		t.Errorf("entry %+v", e)
	}
	if e = build(t, nil, func(b *attrmap.Builder) { b.SetDuration(-5) }); e.Duration != 0 {
		t.Errorf("a negative duration is %d", e.Duration)
	}
}

// A list of element types is JSON: texts have escapes, and other values keep their place.
func TestInputDTypesInJSON(t *testing.T) {
	e := build(t, nil, func(b *attrmap.Builder) {
		b.SetList(b.Target(attrkey.InputDTypes), []byte(` ["f\u00332", ["i8]", "i8"], {"a":[1,"}"]} , "a\",b","i64"] `))
	})
	check.Equal(t, "element types", []op.DType{op.F32, "", "", `a",b`, op.I64}, e.InputDTypes)
	check.Equal(t, "warning", op.WarnBadValue, e.Warn)
}

func TestInputShapeKey(t *testing.T) {
	e := build(t, nil, func(b *attrmap.Builder) {
		b.SetInts(b.Target(attrkey.InputShape(0)), []int64{1})
		b.SetInts(b.Target(attrkey.InputShape(1023)), []int64{2})
		b.SetInts(b.Target("tensor.input.1024.shape"), []int64{3}) // beyond MaxInputs
		b.SetInts(b.Target("tensor.input.-1.shape"), []int64{4})
		b.SetInts(b.Target("tensor.input.x.shape"), []int64{5})
		b.SetInts(b.Target("tensor.input.shape"), []int64{6})
	})
	if n := len(e.InputShapes); n != op.MaxInputs || e.InputShapes[1] != nil || e.InputShapes[1023][0] != 2 ||
		e.Warn != op.WarnShapeTruncated {
		t.Errorf("%d inputs, warnings %q", n, e.Warn)
	}
}

func TestSetTime(t *testing.T) {
	for _, test := range []struct {
		start    op.Int
		duration int64
		wantEnd  op.Int
		warn     op.Warning
	}{
		{op.Known(10), 5, op.Known(15), 0}, {op.Known(10), -5, op.Known(10), op.WarnNegativeDuration},
		{op.Int{}, 5, op.Int{}, op.WarnBadTime}, {op.Known(math.MaxInt64), 1, op.Int{}, op.WarnBadTime},
		{op.Known(math.MaxInt64 - 1), 1, op.Known(math.MaxInt64), 0}, {op.Known(-5), 5, op.Known(0), 0},
		{op.Known(5), math.MinInt64, op.Known(5), op.WarnNegativeDuration},
	} {
		e := build(t, nil, func(b *attrmap.Builder) { b.SetTime(test.start, test.duration) })
		if e.End() != test.wantEnd || e.Warn != test.warn {
			t.Errorf("start %v, duration %d: end %v, warnings %q", test.start, test.duration, e.End(), e.Warn)
		}
	}
}

func TestBuilderCallerWarnings(t *testing.T) {
	e := build(t, nil, func(b *attrmap.Builder) {
		b.Warn(op.WarnMicroseconds)
		b.SetRoot("r\xff", optest.ParentID)
		b.SetScope("s\xff")
		b.SetResource(&op.Resource{Service: "t\xff"})
		b.SetError("e\xff")
		b.SetTraceState("ot=th:fffffffffffffe")
	})
	check.Equal(t, "adjusted count", 1<<55, e.AdjustedCount)
	if e.Warn != op.WarnMicroseconds|op.WarnInvalidUTF8 ||
		e.Root+e.Scope+e.Service+e.Error != "r\ufffds\ufffdt\ufffde\ufffd" {
		t.Errorf("entry %+v", e)
	}
}

// A million inputs cost the memory of the limit.
func TestBuilderBoundsShapes(t *testing.T) {
	many := strings.Repeat("[2,3],", 1_000_000)
	b := attrmap.NewBuilder(nil)
	allocated := testing.AllocsPerRun(1, func() {
		b.Reset()
		b.Str(attrkey.Name, "matmul")
		b.Str(attrkey.InputShapes, "["+many+"[1]]")
		b.Str(attrkey.OutputShape, "[2,3]")
	})
	e, _ := b.Entry()
	if len(e.InputShapes) != op.MaxInputs || e.Warn != op.WarnShapeTruncated || allocated > 100 {
		t.Errorf("%d inputs, warnings %q, %g allocations", len(e.InputShapes), e.Warn, allocated)
	}
	check.Equal(t, "elements beside truncated inputs", op.Known(6), e.OutputElements)
}

// An output of the most dimensions is whole unless the span says that it was truncated.
func TestElementsOfDeepOutput(t *testing.T) {
	deep := make([]int64, op.MaxRank)
	for i := range deep {
		deep[i] = 1
	}
	for _, test := range []struct {
		warn op.Warning
		want op.Int
	}{{0, op.Known(1)}, {op.WarnShapeTruncated, op.Int{}}} {
		e := build(t, nil, func(b *attrmap.Builder) {
			b.SetInts(b.Target(attrkey.OutputShape), deep)
			b.Warn(test.warn)
		})
		check.Equal(t, "elements", test.want, e.OutputElements)
	}
}

// Lists of integers mean the same as their text, up to and beyond each limit.
func TestIntListsAreTheirText(t *testing.T) {
	deep := slices.Repeat([]int64{1}, op.MaxRank+1)
	many := func(n int) (ends []int) {
		for i := range n {
			ends = append(ends, i+1)
		}
		return ends
	}
	for _, test := range []struct {
		dims []int64
		ends []int
	}{
		{[]int64{}, nil}, {[]int64{}, []int{0}}, {[]int64{2, 3}, []int{1, 2}}, {[]int64{2, 3}, []int{0, 2}},
		{[]int64{op.Dynamic, 4}, []int{2}}, {[]int64{op.Dynamic - 1, 4}, []int{2}},
		{deep[1:], []int{op.MaxRank}}, {deep, []int{op.MaxRank + 1}}, {deep, []int{1, op.MaxRank + 1}},
		{slices.Repeat([]int64{1}, op.MaxInputs), many(op.MaxInputs)},
		{slices.Repeat([]int64{1}, op.MaxInputs+1), many(op.MaxInputs + 1)},
	} {
		shapes := make([]op.Shape, 0)
		start := 0
		for _, end := range test.ends {
			shapes = append(shapes, test.dims[start:end:end])
			start = end
		}
		text := build(t, nil, func(b *attrmap.Builder) {
			b.SetList(b.Target(attrkey.InputShapes), op.AppendShapesJSON(nil, shapes))
			b.SetList(b.Target(attrkey.OutputShape), append(op.Shape{}, test.dims...).AppendJSON(nil))
		})
		lists := build(t, nil, func(b *attrmap.Builder) {
			b.SetIntLists(b.Target(attrkey.InputShapes), test.dims, test.ends)
			b.SetInts(b.Target(attrkey.OutputShape), test.dims)
		})
		check.Equal(t, fmt.Sprintf("%d dimensions in %d lists", len(test.dims), len(test.ends)), text, lists)
	}
}

func TestResourceSet(t *testing.T) {
	r := &op.Resource{}
	for _, a := range [][2]string{
		{attrkey.ServiceName, "s"}, {attrkey.Rank, " 3 "}, {attrkey.WorldSize, "8"}, {"host.name", "n1"},
		{"host.name", "n2"}, {attrkey.Rank, "x"}, {attrkey.WorldSize, "-1"}, {"bad", "\xff"},
	} {
		opmodel.SetResourceAttr(r, new(opmodel.AttrIndex), op.Attr{Key: a[0], Value: a[1]})
	}
	want := &op.Resource{Service: "s", Rank: op.Known(3), WorldSize: op.Known(8), Host: "n2", Attrs: []op.Attr{
		{Key: "host.name", Value: "n2"}, {Key: attrkey.Rank, Value: "x"}, {Key: attrkey.WorldSize, Value: "-1"},
		{Key: "bad", Value: "\ufffd"},
	}}
	check.Equal(t, "resource", want, r)
}

// Package convert hands a Builder the SDK's spans. A Predicate takes the same ones for operations.
func TestConformance(t *testing.T) {
	conv := convert.New(nil, 1<<20) // one for all: fields left over from a span would show
	optest.Run(t, func(t *testing.T, c optest.Case) (*op.Entry, bool) {
		stub := c.Stub(t)
		d := span.Read(stub.Snapshot(), stub.SpanContext, stub.Parent)
		e, ok := conv.Entry(&d, span.Root{})
		p := attrmap.NewPredicate(nil)
		seen := false
		for _, a := range c.Span.Attributes {
			seen = p.See(string(a.Key))
		}
		check.Equal(t, "the predicate: operation", ok, seen)
		return e, ok
	})
}

// Where everything is kept, an attribute is left out only if a writer gives it back as it was.
func TestKeepAll(t *testing.T) {
	m := new(attrmap.Mapping)
	m.Alias("engine.op", attrkey.Name)
	m.KeepAll()
	b := attrmap.NewBuilder(m)
	b.Reset()
	b.SetName("span")
	b.Str(attrkey.Name, "matmul")
	b.SetInts(b.Target(attrkey.OutputShape), []int64{2, 3})
	b.Str(attrkey.InputShapes, "2x3")
	b.Str(attrkey.DType, "f32")
	b.SetFloat(b.Target(attrkey.Step), 7)
	b.Int(attrkey.Stream, 7)
	b.Str(attrkey.Kind, "compute")
	b.Int(attrkey.Memory, 24)
	b.Int(attrkey.Rank, 3)
	b.Str("engine.op", "gemm")
	b.Str("model", "m1")
	b.SetResource(&op.Resource{Rank: op.Known(3)})
	b.SetScopeOf(&op.Scope{Name: "lib", Version: "1"})
	e, ok := b.Entry()
	want := []op.Attr{
		{Key: attrkey.InputShapes, Value: "2x3"}, {Key: attrkey.Step, Value: "7", Type: op.AttrFloat},
		{Key: attrkey.Kind, Value: "compute"}, {Key: attrkey.Rank, Value: "3", Type: op.AttrInt},
		{Key: "engine.op", Value: "gemm"}, {Key: "model", Value: "m1"},
	}
	if diff := cmp.Diff(want, e.Attrs); !ok || diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	check.Equal(t, "extra", &op.Extra{Name: "span", Scope: op.Scope{Version: "1"}}, e.Extra)

	b.Reset()
	b.Str("http.route", "/")
	b.Int(attrkey.Step, 7)
	var s op.Span
	if _, ok := b.Entry(); ok {
		t.Fatal("a request is an operation")
	}
	b.FillSpan(&s)
	check.Equal(t, "attributes of a span",
		[]op.Attr{{Key: "http.route", Value: "/"}, {Key: attrkey.Step, Value: "7", Type: op.AttrInt}}, s.Attrs)
	if s.Extra != nil {
		t.Errorf("extra of a span is %+v", s.Extra)
	}
}

// parseShape returns the output shape that a Builder reads from a text. nil stands for no shape.
func parseShape(text string) op.Shape {
	b := attrmap.NewBuilder(nil)
	b.Reset()
	b.Str(attrkey.Name, "matmul")
	b.Str(attrkey.OutputShape, text)
	e, _ := b.Entry()
	if e.Warn&(op.WarnBadShape|op.WarnShapeTruncated) != 0 {
		return nil
	}
	return e.OutputShape
}

func TestParseShape(t *testing.T) {
	golden.Lines(t, "testdata/shapes.txt", func(text string) string {
		if s := parseShape(text); s != nil {
			return s.String()
		}
		return "none"
	})
}

// A shape that is read is valid, and its text reads as the same shape, unless it is a word or has an unknown dimension.
func FuzzParseShape(f *testing.F) {
	for line := range strings.Lines(string(check.Must(os.ReadFile("testdata/shapes.txt"))(f))) {
		text, _, _ := strings.Cut(line, " => ")
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := parseShape(text)
		if len(s) > op.MaxRank || len(s) > 0 && slices.Min(s) < op.Dynamic {
			t.Fatalf("%q reads as %#v", text, s)
		}
		if back := parseShape(s.String()); len(s) > 0 && slices.Min(s) >= 0 && !cmp.Equal(s, back) {
			t.Fatalf("%q is %v, which prints as %s and reads as %v", text, s, s, back)
		}
	})
}
