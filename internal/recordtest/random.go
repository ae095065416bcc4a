package recordtest

import (
	"math/rand/v2"
	"strings"

	"github.com/optrace/optrace/internal/opmodel"
	"github.com/optrace/optrace/op"
)

// Clone copies a record, which belongs to the reader.
func Clone(rec op.Record) op.Record {
	switch {
	case rec.Entry != nil:
		rec.Entry = rec.Entry.Clone()
	case rec.Span != nil:
		rec.Span = rec.Span.Clone()
	case rec.Resource != nil:
		r := *rec.Resource
		r.Attrs = append([]op.Attr(nil), r.Attrs...)
		rec.Resource = &r
	case rec.Gap != nil:
		g := *rec.Gap
		rec.Gap = &g
	case rec.Batch != nil:
		b := *rec.Batch
		rec.Batch = &b
	}
	return rec
}

// Random makes random records.
type Random struct{ *rand.Rand }

// Maybe reports true half of the time.
func (r Random) Maybe() bool { return r.IntN(2) == 0 }

func (r Random) number() op.Int {
	if r.Maybe() {
		return op.Int{}
	}
	return op.Known(int64(r.Uint64() >> (1 + r.IntN(63))))
}

func (r Random) text() string {
	words := []string{"", "", "matmul", "cuda:0", "a \"b\"\\\n", "é€😀", "\x00\x7f", strings.Repeat("long ", 20)}
	return words[r.IntN(len(words))]
}

func (r Random) shape() op.Shape {
	if r.IntN(3) == 0 {
		return nil
	}
	s := op.Shape{}
	for range r.IntN(4) {
		s = append(s, r.Int64N(1000)-1)
	}
	return s
}

// ID returns an id that is not zero.
func (r Random) ID() (id op.SpanID) {
	for i := range id {
		id[i] = byte(1 + r.IntN(255))
	}
	return id
}

func (r Random) attrs() []op.Attr {
	if r.Maybe() {
		return nil
	}
	return []op.Attr{
		{Key: "a" + r.text(), Value: r.text()}, {Key: "b", Value: r.text()}, {Key: "n", Value: "7", Type: op.AttrInt},
		opmodel.FloatAttr("f", r.NormFloat64()), {Key: "list", Value: `[1,2.0,{"bytesValue":"AAE="}]`, Type: op.AttrJSON},
	}[r.IntN(4):]
}

func (r Random) links() (links []op.Link) {
	for range r.IntN(4) - 1 {
		links = append(links, op.Link{TraceID: op.TraceID{2, 15: byte(r.IntN(9))}, SpanID: r.ID(), Weight: r.number()})
		if r.Maybe() {
			links[0].Extra = &op.LinkExtra{Flags: 1, Attrs: r.attrs()}
		}
	}
	return links
}

func (r Random) extra() *op.Extra {
	if r.Maybe() {
		return nil
	}
	return &op.Extra{
		Kind: "server", Flags: r.Uint32(), TraceState: r.text(), Message: r.text(), Scope: op.Scope{Version: "1", Attrs: r.attrs()},
		Events: []op.Event{{Name: r.text(), Time: r.number(), Attrs: r.attrs()}},
	}
}

// Entry returns an entry as readers make them.
func (r Random) Entry() *op.Entry {
	e := &op.Entry{
		Step: r.number(), Operation: "op" + r.text(), Path: r.text(), DeviceID: r.text(), Stream: r.number(), Rank: r.number(),
		Kind: op.Kind(1 + r.IntN(int(op.KindControl))), KindRule: op.KindRule(r.IntN(int(op.RuleDefault) + 1)),
		OutputShape: r.shape(), DType: []op.DType{"", op.F32, "odd type"}[r.IntN(3)],
		Start: op.Known(int64(r.Uint64() >> 2)), Duration: int64(r.Uint64() >> (2 + r.IntN(62))), Launch: r.number(),
		OutputElements: r.number(), MemoryBytes: r.number(), FLOPs: r.number(),
		Root: r.text(), Service: r.text(), Scope: r.text(), Attrs: r.attrs(), Links: r.links(), Extra: r.extra(),
		DroppedAttributes: r.Int64N(3), Warn: op.Warning(r.IntN(int(op.WarnDroppedLinks) << 1)),
	}
	if e.DType == "odd type" {
		e.Warn |= op.WarnUnknownDType // as a reader finds out again
	}
	if r.Maybe() {
		e.InputShapes = []op.Shape{}
		for range r.IntN(4) {
			e.InputShapes = append(e.InputShapes, r.shape())
		}
	}
	if r.Maybe() {
		e.InputDTypes = []op.DType{}
		for range r.IntN(4) {
			e.InputDTypes = append(e.InputDTypes, []op.DType{op.F32, "", "int4"}[r.IntN(3)])
		}
	}
	if r.Maybe() {
		e.TraceID, e.SpanID, e.ParentSpanID, e.RootSpanID = op.TraceID{1, 15: byte(r.IntN(9))}, r.ID(), r.ID(), r.ID()
	}
	if r.Maybe() {
		e.Failed, e.Error = true, r.text()
	}
	if r.Maybe() {
		e.Collective = &op.Collective{Name: r.text(), Group: r.text(), GroupSize: r.number(), Sequence: r.number(), PeerRank: r.number(),
			InElements: r.number(), OutElements: r.number()}
	}
	if r.Maybe() {
		e.AdjustedCount = 1 + r.ExpFloat64()
	}
	if r.Maybe() {
		e.Side = op.SideHost
	}
	return e
}

// Record returns a record of any kind.
func (r Random) Record() op.Record {
	switch r.IntN(8) {
	case 0:
		return op.Record{Span: &op.Span{
			Name: r.text(), TraceID: op.TraceID{7}, SpanID: r.ID(), ParentSpanID: r.ID(), RemoteParent: r.Maybe(),
			Start: op.Known(r.Int64N(1 << 60)), Duration: r.Int64N(1 << 40), Service: r.text(), Failed: r.Maybe(),
			Attrs: r.attrs(), Links: r.links(), Extra: r.extra(),
		}}
	case 1:
		return op.Record{Resource: &op.Resource{Service: r.text(), Rank: r.number(), WorldSize: r.number(), Attrs: r.attrs()}}
	case 2:
		return op.Record{Gap: &op.Gap{Dropped: r.Int64N(100), Reason: r.text()}}
	case 3:
		return op.Record{Batch: &op.Batch{Writer: r.text(), Sequence: r.Int64N(100), Entries: r.Int64N(100)}}
	}
	return op.Record{Entry: r.Entry()}
}
