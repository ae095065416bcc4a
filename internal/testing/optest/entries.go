package optest

import (
	"bytes"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// RichEntry returns an entry with every field set.
func RichEntry() *op.Entry {
	return &op.Entry{
		Step: op.Known(3), Operation: "all_reduce", Kind: op.KindCollective, KindRule: op.RuleName, Side: op.SideHost,
		Path:     "encoder.0",
		DeviceID: "cuda:0", Stream: op.Known(7), Rank: op.Known(1),
		InputShapes: []op.Shape{{64, 784}, {}, nil, {-1, 2}}, InputDTypes: []op.DType{op.F32, op.I64, "", "int4"},
		OutputShape: op.Shape{64, 256}, DType: op.BF16,
		Start: op.Known(1_700_000_000_123_456_789), Duration: 12_600, Launch: op.Known(1_700_000_000_123_450_000),
		OutputElements: op.Known(16384), MemoryBytes: op.Known(32768), FLOPs: op.Known(25690112),
		Failed: true, Error: "out of \"memory\"\n",
		TraceID: TraceID, SpanID: SpanID, ParentSpanID: ParentID, Root: "POST /predict", RootSpanID: ParentID,
		Service: "trainer", Scope: "example.com/engine",
		Collective: &op.Collective{
			Name: "all_reduce", Group: "dp", GroupSize: op.Known(8), Sequence: op.Known(42), PeerRank: op.Known(0),
			InElements: op.Known(100), OutElements: op.Known(100),
		},
		AdjustedCount: 4, DroppedAttributes: 2,
		Attrs: []op.Attr{{Key: "model", Value: "resnet"}, {Key: "batch", Value: "64", Type: op.AttrInt}},
		Links: []op.Link{{TraceID: TraceID, SpanID: ParentID, Weight: op.Known(3), Attention: op.Known(40)},
			{TraceID: TraceID, SpanID: SpanID}},
		Extra:      RichExtra(),
		LaunchedBy: "aten::mm", LaunchSpanID: ParentID, StepName: "ProfilerStep#12", Phase: "forward",
		Warn: op.WarnBadShape | op.WarnDroppedAttributes,
	}
}

// RichExtra returns an Extra with every field set.
func RichExtra() *op.Extra {
	return &op.Extra{
		Name: "aten::mm", Kind: "client", Flags: 257, TraceState: "a=b", OK: true, Message: "fine",
		Scope: op.Scope{Name: "lib", Version: "1.2", Attrs: []op.Attr{{Key: "backend", Value: "cpu"}}},
		Events: []op.Event{
			{Name: "launch", Time: op.Known(5), Attrs: []op.Attr{{Key: "grid", Value: "[1,2.0]", Type: op.AttrJSON}},
				DroppedAttributes: 1},
			{},
		},
		DroppedAttributes: 1, DroppedEvents: 2, DroppedLinks: 3,
	}
}

// RandomEntry returns a valid entry.
func RandomEntry(r *rand.Rand) *op.Entry {
	maybe := func() bool { return r.IntN(2) == 0 }
	number := func() op.Int {
		if maybe() {
			return op.Int{}
		}
		return op.Known(int64(r.Uint64() >> (1 + r.IntN(63))))
	}
	words := []string{"", "matmul", "cuda:0", "a \"b\"\\\n", "é€😀", "\u2028</script>", "\x00\x7f",
		strings.Repeat("long ", 20)}
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
		e.Warn |= op.WarnUnknownDType // readers add this warning
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
		e.TraceID = TraceID
		e.SpanID = id()
		e.ParentSpanID = id()
		e.RootSpanID = id()
	}
	if maybe() {
		e.Failed = true
		e.Error = text()
	}
	if maybe() {
		e.Collective = &op.Collective{Name: text(), Group: text(), GroupSize: number(), Sequence: number(),
			PeerRank: number(), InElements: number(), OutElements: number()}
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
		e.Links = append(e.Links, op.Link{TraceID: TraceID, SpanID: id(), Weight: number(), Attention: number()})
		if maybe() {
			e.Links[0].Extra = &op.LinkExtra{Attrs: randomAttrs(r), Flags: r.Uint32(), TraceState: "a=b" + text(),
				DroppedAttributes: r.Int64N(2)}
		}
	}
	if maybe() {
		e.Attrs = append(e.Attrs, randomAttrs(r)...)
	}
	if maybe() {
		e.Extra = RichExtra()
		e.Extra.Scope.Attrs = randomAttrs(r)
		e.Extra.Events[0].Attrs = randomAttrs(r)
		e.Extra.Message = text()
	}
	return e
}

// randomAttrs returns attributes of some types; the list may be nil.
func randomAttrs(r *rand.Rand) (attrs []op.Attr) {
	all := []op.Attr{
		{Key: "int", Value: strconv.FormatInt(r.Int64()-r.Int64(), 10), Type: op.AttrInt},
		opmodel.FloatAttr("float", r.NormFloat64()), opmodel.FloatAttr("integral", 4), opmodel.FloatAttr("large", 1e21),
		opmodel.FloatAttr("NaN", math.NaN()),
		opmodel.FloatAttr("+Inf", math.Inf(1)), opmodel.FloatAttr("-Inf", math.Inf(-1)),
		{Key: "bool", Value: "true", Type: op.AttrBool},
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

// hostileTexts are texts that break out of careless formats.
var hostileTexts = []string{
	"matmul", "", "a;b c\nd", "</script><script>", "]]>", "\u2028\u2029", "=1+1", "'quoted'", "-minus", "@at", "\t",
	"\x1b]0;title\x07", "\u202emul", "a\"b\\c", "a,b\r\nc", "\x00\x7f", "../../x", "CON", "{{.}}", "__proto__",
	"[[1,2]]", "null", "4", "矩阵乘法", "\xff",
}

// FuzzEntries fuzzes check with valid entries of arbitrary texts, times and numbers.
func FuzzEntries(f *testing.F, check func(t *testing.T, e *op.Entry)) {
	f.Helper()
	for i, text := range hostileTexts {
		f.Add(text, hostileTexts[len(hostileTexts)-1-i], start+int64(i), int64(i)*duration, int64(i))
	}
	f.Add("matmul", "cuda:0", int64(-5), int64(1)<<62, int64(1)<<60)
	f.Fuzz(func(t *testing.T, name, text string, start, duration, n int64) {
		e := &op.Entry{
			Operation: name, Path: text, DeviceID: text, Service: text, Scope: text, Failed: true, Error: text,
			Step: op.Known(n), Stream: op.Known(n), MemoryBytes: op.Known(n), Start: op.Known(start),
			Duration: duration,
			TraceID:  TraceID, SpanID: SpanID, ParentSpanID: ParentID,
		}
		e.Kind, e.KindRule = op.InferKind(name)
		if e.Validate() != nil {
			t.Skip("no valid entry")
		}
		check(t, e)
	})
}

// Found counts the records in a file by kind. Err is the final error.
type Found struct {
	Entries, Spans, Skipped, Malformed int
	Err                                error
}

// Find reads records to their end.
func Find(records iter.Seq2[op.Record, error]) (f Found) {
	for rec, err := range records {
		switch _, isSyntax := errors.AsType[*op.SyntaxError](err); {
		case isSyntax:
			f.Malformed++
		case err != nil:
			f.Err = err
		case rec.Entry != nil:
			f.Entries++
		case rec.Span != nil:
			f.Spans++
		case rec.Skipped.N > 0:
			f.Skipped++
		}
	}
	return f
}

// Mutants damages a sample of a binary format n times. It reports mutants that read as empty without an
// error. A mutant cut off after skipped records may be a whole file.
func Mutants(t *testing.T, n int, sample []byte, read func(text []byte) Found) {
	t.Helper()
	if f := read(sample); f.Entries == 0 || f.Malformed > 0 || f.Err != nil {
		t.Fatalf("undamaged: %+v", f)
	}
	silent := 0
	for seed := range n {
		text, how := mutant(rand.New(rand.NewPCG(uint64(seed), 4)), sample)
		if f := read(text); f.Entries+f.Malformed == 0 && f.Err == nil && (f.Skipped == 0 || how != cutOff) {
			silent++
			t.Logf("mutant %d: %s: nothing was found, and nothing said", seed, how)
		}
	}
	if silent > 0 {
		t.Errorf("%d mutants read as empty", silent)
	}
}

const cutOff = "cut off" // describes a mutant that is the beginning of the sample

// mutant returns a damaged copy of a sample, and a description of the damage.
func mutant(rng *rand.Rand, sample []byte) (text []byte, how string) {
	at := rng.IntN(len(sample))
	end := min(len(sample), at+1+rng.IntN(1+len(sample)/4))
	switch rng.IntN(4) {
	case 0:
		// at least two bytes: a single newline is an empty text
		return bytes.Clone(sample[:min(2+at, len(sample))]), cutOff
	case 1:
		if end-at < len(sample) {
			return slices.Concat(sample[:at], sample[end:]), "a range removed"
		}
	case 2:
		return slices.Concat(sample[:end], sample[at:]), "a range doubled"
	}
	text = bytes.Clone(sample)
	for range 1 + rng.IntN(4) {
		text[rng.IntN(len(text))] ^= 1 << rng.IntN(8)
	}
	return text, "bits changed"
}
