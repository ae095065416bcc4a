package attrmap_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/testing/check"
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
		{op.Known(10), 5, op.Known(15), 0},
		{op.Known(10), -5, op.Known(10), op.WarnNegativeDuration},
		{op.Int{}, 5, op.Int{}, op.WarnBadTime},
		{op.Known(math.MaxInt64), 1, op.Int{}, op.WarnBadTime},
		{op.Known(math.MaxInt64 - 1), 1, op.Known(math.MaxInt64), 0},
		{op.Known(-5), 5, op.Known(0), 0},
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
	})
	e, _ := b.Entry()
	if len(e.InputShapes) != op.MaxInputs || e.Warn != op.WarnShapeTruncated || allocated > 100 {
		t.Errorf("%d inputs, warnings %q, %g allocations", len(e.InputShapes), e.Warn, allocated)
	}
}

func TestResourceSet(t *testing.T) {
	r := &op.Resource{}
	for _, a := range [][2]string{
		{attrkey.ServiceName, "s"}, {attrkey.Rank, " 3 "}, {attrkey.WorldSize, "8"}, {"host.name", "n1"},
		{"host.name", "n2"},
		{attrkey.Rank, "x"}, {attrkey.WorldSize, "-1"}, {"bad", "\xff"},
	} {
		opmodel.SetResourceAttr(r, new(opmodel.AttrIndex), op.Attr{Key: a[0], Value: a[1]})
	}
	want := &op.Resource{Service: "s", Rank: op.Known(3), WorldSize: op.Known(8), Host: "n2", Attrs: []op.Attr{
		{Key: "host.name", Value: "n2"}, {Key: attrkey.Rank, Value: "x"}, {Key: attrkey.WorldSize, Value: "-1"},
		{Key: "bad", Value: "\ufffd"},
	}}
	check.Equal(t, "resource", want, r)
}

func BenchmarkBuildEntry(b *testing.B) {
	build := attrmap.NewBuilder(nil)
	output := []int64{64, 256}
	b.ReportAllocs()
	for b.Loop() {
		build.Reset()
		build.SetName("matmul")
		build.SetTime(op.Known(1_700_000_000_000_000_000), 12_600)
		build.Str(attrkey.Name, "matmul")
		build.Str(attrkey.Device, "cuda:0")
		build.Str(attrkey.InputShapes, "[[64,784],[784,256]]")
		build.SetInts(build.Target(attrkey.OutputShape), output)
		build.Int(attrkey.Step, 7)
		if _, ok := build.Entry(); !ok {
			b.Fatal("the span is no operation")
		}
	}
}
