package op_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/op"
)

var (
	testTrace  = op.TraceID{0x5b, 0x8e, 0xff, 0xf7, 0x98, 0x03, 0x81, 0x03, 0xd2, 0x69, 0xb6, 0x33, 0x81, 0x3f, 0xc6, 0x0c}
	testSpan   = op.SpanID{0xee, 0xe1, 0x9b, 0x7e, 0xc3, 0xc1, 0xb1, 0x74}
	testParent = op.SpanID{0xee, 0xe1, 0x9b, 0x7e, 0xc3, 0xc1, 0xb1, 0x73}
)

// richEntry has every field set.
func richEntry() *op.Entry {
	return &op.Entry{
		Step: op.Known(3), Operation: "all_reduce", Kind: op.KindCollective, KindRule: op.RuleName, Side: op.SideHost, Path: "encoder.0",
		DeviceID: "cuda:0", Stream: op.Known(7), Rank: op.Known(1),
		InputShapes: []op.Shape{{64, 784}, {}, nil, {-1, 2}}, InputDTypes: []op.DType{op.F32, op.I64, "", "int4"},
		OutputShape: op.Shape{64, 256}, DType: op.BF16,
		Start: op.Known(1_700_000_000_123_456_789), Duration: 12_600, Launch: op.Known(1_700_000_000_123_450_000),
		OutputElements: op.Known(16384), MemoryBytes: op.Known(32768), FLOPs: op.Known(25690112),
		Failed: true, Error: "out of \"memory\"\n",
		TraceID: testTrace, SpanID: testSpan, ParentSpanID: testParent, Root: "POST /predict", RootSpanID: testParent,
		Service: "trainer", Scope: "example.com/engine",
		Collective: &op.Collective{
			Name: "all_reduce", Group: "dp", GroupSize: op.Known(8), Sequence: op.Known(42), PeerRank: op.Known(0),
			InElements: op.Known(100), OutElements: op.Known(100),
		},
		AdjustedCount: 4, DroppedAttributes: 2,
		Attrs: []op.Attr{{Key: "model", Value: "resnet"}, {Key: "batch", Value: "64", Type: op.AttrInt}},
		Links: []op.Link{{TraceID: testTrace, SpanID: testParent, Weight: op.Known(3)}, {TraceID: testTrace, SpanID: testSpan}},
		Extra: richExtra(),
		Warn:  op.WarnBadShape | op.WarnDroppedAttributes,
	}
}

// richExtra has every field set.
func richExtra() *op.Extra {
	return &op.Extra{
		Name: "aten::mm", Kind: "client", Flags: 257, TraceState: "a=b", OK: true, Message: "fine",
		Scope: op.Scope{Name: "lib", Version: "1.2", Attrs: []op.Attr{{Key: "backend", Value: "cpu"}}},
		Events: []op.Event{
			{Name: "launch", Time: op.Known(5), Attrs: []op.Attr{{Key: "grid", Value: "[1,2.0]", Type: op.AttrJSON}}, DroppedAttributes: 1},
			{},
		},
		DroppedAttributes: 1, DroppedEvents: 2, DroppedLinks: 3,
	}
}

// A field that is added to Entry must be added here, and so reach the tests of
// the encoder, of the decoder and of Clone.
func TestRichEntryIsComplete(t *testing.T) {
	for _, v := range []reflect.Value{
		reflect.ValueOf(*richEntry()), reflect.ValueOf(*richEntry().Collective), reflect.ValueOf(*richExtra()),
		reflect.ValueOf(richExtra().Scope), reflect.ValueOf(richExtra().Events[0]),
	} {
		for i := range v.NumField() {
			// An entry with a device has no empty one, and lines do not hold the host.
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "EmptyDevice" && name != "Host" {
				t.Errorf("%s.%s is not set", v.Type(), v.Type().Field(i).Name)
			}
		}
	}
}

// randomEntry returns a valid entry.
func randomEntry(r *rand.Rand) *op.Entry {
	maybe := func() bool { return r.IntN(2) == 0 }
	number := func() op.Int {
		if maybe() {
			return op.Int{}
		}
		return op.Known(int64(r.Uint64() >> (1 + r.IntN(63))))
	}
	words := []string{"", "matmul", "cuda:0", "a \"b\"\\\n", "é€😀", "\u2028</script>", "\x00\x7f", strings.Repeat("long ", 20)}
	text := func() string { return words[r.IntN(len(words))] }
	shape := func() op.Shape {
		if maybe() {
			return nil
		}
		s := op.Shape{}
		for range r.IntN(4) {
			s = append(s, r.Int64N(1000)-1)
		}
		return s
	}
	id := func() (id op.SpanID) {
		for i := range id {
			id[i] = byte(1 + r.IntN(255))
		}
		return id
	}
	e := &op.Entry{
		Step: number(), Operation: "op" + text(), Path: text(), DeviceID: text(), Stream: number(), Rank: number(),
		OutputShape: shape(), DType: []op.DType{"", op.F32, "odd type"}[r.IntN(3)],
		Start: op.Known(int64(r.Uint64() >> 2)), Duration: int64(r.Uint64() >> (2 + r.IntN(62))), Launch: number(),
		OutputElements: number(), MemoryBytes: number(), FLOPs: number(),
		Root: text(), Service: text(), Scope: text(),
		DroppedAttributes: r.Int64N(3), Warn: op.Warning(r.IntN(int(op.WarnDroppedLinks) << 1)),
	}
	if e.DType == "odd type" {
		e.Warn |= op.WarnUnknownDType // which a reader adds itself
	}
	e.Kind = op.Kind(1 + r.IntN(int(op.KindControl)))
	e.KindRule = map[op.Kind]op.KindRule{op.KindCompute: op.RuleDefault, op.KindMemory: op.RuleName}[e.Kind]
	if e.Kind == op.KindCollective {
		e.KindRule = op.KindRule(r.IntN(int(op.RuleName) + 1))
	}
	if maybe() {
		e.InputShapes = []op.Shape{}
		for range r.IntN(4) {
			e.InputShapes = append(e.InputShapes, shape())
		}
	}
	if maybe() {
		e.InputDTypes = []op.DType{}
		for range r.IntN(4) {
			e.InputDTypes = append(e.InputDTypes, []op.DType{op.F32, "", "int4"}[r.IntN(3)])
		}
	}
	if maybe() {
		e.TraceID, e.SpanID, e.ParentSpanID, e.RootSpanID = testTrace, id(), id(), id()
	}
	if maybe() {
		e.Failed, e.Error = true, text()
	}
	if maybe() {
		e.Collective = &op.Collective{Name: text(), Group: text(), GroupSize: number(), Sequence: number(), PeerRank: number(),
			InElements: number(), OutElements: number()}
	}
	if maybe() {
		e.AdjustedCount = 1 + r.ExpFloat64()
	}
	if maybe() {
		e.Attrs = []op.Attr{{Key: "a" + text(), Value: text()}, {Key: "b", Value: text()}}
	}
	if maybe() {
		e.Side = op.SideHost
	}
	for range r.IntN(3) {
		e.Links = append(e.Links, op.Link{TraceID: testTrace, SpanID: id(), Weight: number()})
		if maybe() {
			e.Links[0].Extra = &op.LinkExtra{Attrs: randomAttrs(r), Flags: r.Uint32(), TraceState: "a=b" + text(), DroppedAttributes: r.Int64N(2)}
		}
	}
	if maybe() {
		e.Attrs = append(e.Attrs, randomAttrs(r)...)
	}
	if maybe() {
		e.Extra = richExtra()
		e.Extra.Scope.Attrs, e.Extra.Events[0].Attrs, e.Extra.Message = randomAttrs(r), randomAttrs(r), text()
	}
	return e
}

// randomAttrs returns attributes of some types, nil for none.
func randomAttrs(r *rand.Rand) (attrs []op.Attr) {
	all := []op.Attr{
		{Key: "int", Value: strconv.FormatInt(r.Int64()-r.Int64(), 10), Type: op.AttrInt},
		op.FloatAttr("float", r.NormFloat64()), op.FloatAttr("integral", 4), op.FloatAttr("large", 1e21), op.FloatAttr("NaN", math.NaN()),
		op.FloatAttr("+Inf", math.Inf(1)), op.FloatAttr("-Inf", math.Inf(-1)), {Key: "bool", Value: "true", Type: op.AttrBool},
		{Key: "no", Value: "false", Type: op.AttrBool}, {Key: "bytes", Value: "AAE=", Type: op.AttrBytes},
		{Key: "list", Value: `[1,2.0,"a",null,{"bytesValue":"AAE="}]`, Type: op.AttrJSON},
		{Key: "map", Value: `{"a":{"b":[true]}}`, Type: op.AttrJSON}, {Key: "null", Value: "null", Type: op.AttrJSON},
		{Key: "text", Value: "4"}, {Key: "like JSON", Value: "[1]"}, {Key: "", Value: ""},
	}
	for _, i := range r.Perm(len(all))[:r.IntN(4)] {
		attrs = append(attrs, all[i])
	}
	return attrs
}

func TestRandomEntriesAreValid(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		if err := randomEntry(r).Validate(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestValidate(t *testing.T) {
	if err := richEntry().Validate(); err != nil {
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
		{"the end does not fit: start 9223372036854775807, duration 12600 ns", func(e *op.Entry) { e.Start = op.Known(math.MaxInt64) }},
		{"kind 0 is none", func(e *op.Entry) { e.Kind = op.KindUnknown }},
		{"kind 77 is none", func(e *op.Entry) { e.Kind = 77 }},
		{"output_shape has a dimension of -2", func(e *op.Entry) { e.OutputShape = op.Shape{-2} }},
		{"input_shapes[1] has a dimension of -7", func(e *op.Entry) { e.InputShapes = []op.Shape{{1}, {2, -7}} }},
		{"output_shape has more than 64 dimensions", func(e *op.Entry) { e.OutputShape = make(op.Shape, 65) }},
		{"more than 1024 input shapes", func(e *op.Entry) { e.InputShapes = make([]op.Shape, 1025) }},
		{"output_elements is negative: -1", func(e *op.Entry) { e.OutputElements = op.Known(-1) }},
		{"memory_bytes is negative: -1", func(e *op.Entry) { e.MemoryBytes = op.Known(-1) }},
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
		e := richEntry()
		test.change(e)
		if err := e.Validate(); err == nil || err.Error() != test.want {
			t.Errorf("Validate() = %v, want %s", err, test.want)
		}
	}
	e := richEntry()
	e.Operation, e.Duration = "", -1
	if err := e.Validate(); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("two violations give %v", err)
	}
}

// scribble changes everything that e refers to.
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

func TestClone(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	entries := []*op.Entry{richEntry(), {}, {InputShapes: []op.Shape{}, OutputShape: op.Shape{}, InputDTypes: []op.DType{}}}
	for range 200 {
		entries = append(entries, randomEntry(r))
	}
	for _, e := range entries {
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

func TestEnd(t *testing.T) {
	if got := (&op.Entry{Duration: 5}).End(); got.Known {
		t.Errorf("the end without a start is %v", got)
	}
	if got := (&op.Entry{Start: op.Known(10), Duration: 5}).End(); got != op.Known(15) {
		t.Errorf("the end is %v, want 15", got)
	}
}
