package op_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/internal/testing/check"
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
	if err := e.Validate(); err != nil {
		t.Errorf("what is just allowed: %v", err)
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
		optest.Scribble(e)
		if diff := cmp.Diff(keep, c); diff != "" {
			t.Fatalf("the clone changed with the original:\n%s", diff)
		}
	}
}

func TestEnd(t *testing.T) {
	if got := (&op.Entry{Duration: 5}).End(); got.Known {
		t.Errorf("the end without a start is %v", got)
	}
	check.Equal(t, "the end", op.Known(15), (&op.Entry{Start: op.Known(10), Duration: 5}).End())
}
