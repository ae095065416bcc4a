package optest

import (
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
)

// links covers links to other spans.
func links() []Case {
	otherTrace := op.TraceID{0xb0, 15: 1}
	otherSpan := op.SpanID{0xc0, 7: 1}
	linked := func(name string, needs Needs, links []Link, change func(*op.Entry)) Case {
		s := matmul()
		s.Links = links
		return Case{Name: "links/" + name, Needs: needs, Span: s, Want: entry(change)}
	}
	one := func(attrs ...Attr) []Link {
		return []Link{{TraceID: otherTrace, SpanID: otherSpan, Attributes: attrs}}
	}
	want := func(weight op.Int, w op.Warning) func(*op.Entry) {
		return func(e *op.Entry) {
			e.Links = []op.Link{{TraceID: otherTrace, SpanID: otherSpan, Weight: weight}}
			e.Warn |= w
		}
	}
	weight := func(name string, value any, n op.Int, w op.Warning) Case {
		attrs := []Attr{{"queue", "fast"}, {attrkey.LinkWeight, value}, {"tokens", int64(7)}}
		return linked("weight "+name, LinkAttributes, one(attrs...), want(n, w))
	}
	dropped := matmul()
	dropped.DroppedLinks = 2
	return []Case{
		linked("to another trace", 0, one(), want(op.Int{}, 0)),
		linked("to the own trace", 0, []Link{{TraceID: TraceID, SpanID: otherSpan}}, func(e *op.Entry) {
			e.Links = []op.Link{{TraceID: TraceID, SpanID: otherSpan}}
		}),
		linked("two", 0, append(one(), Link{TraceID: otherTrace, SpanID: SpanID}), func(e *op.Entry) {
			e.Links = []op.Link{{TraceID: otherTrace, SpanID: otherSpan}, {TraceID: otherTrace, SpanID: SpanID}}
		}),
		linked("other attributes", LinkAttributes, one(Attr{"queue", "fast"}, Attr{"sizes", []int64{1}}),
			want(op.Int{}, 0)),
		linked("without ids", 0, []Link{{}}, warn(op.WarnBadID)),
		linked("weight of one of two", LinkAttributes, append(one(Attr{attrkey.LinkWeight, int64(3)}), one()...),
			func(e *op.Entry) {
				link := op.Link{TraceID: otherTrace, SpanID: otherSpan}
				e.Links = []op.Link{link, link}
				e.Links[0].Weight = op.Known(3)
			}),
		linked("weight of attention", LinkAttributes, one(Attr{attrkey.LinkAttention, int64(40)},
			Attr{attrkey.LinkWeight, int64(3)}),
			func(e *op.Entry) {
				e.Links = []op.Link{{TraceID: otherTrace, SpanID: otherSpan, Weight: op.Known(3),
					Attention: op.Known(40)}}
			}),
		linked("negative weight of attention", LinkAttributes, one(Attr{attrkey.LinkAttention, int64(-1)}),
			want(op.Int{}, op.WarnBadValue)),
		weight("of an int", int64(12), op.Known(12), 0),
		weight("of zero", int64(0), op.Known(0), 0),
		weight("as text", " 12", op.Known(12), 0),
		weight("as float", 12.0, op.Known(12), 0),
		weight("negative", int64(-1), op.Int{}, op.WarnBadValue),
		weight("with a fraction", 1.5, op.Int{}, op.WarnBadValue),
		weight("as words", "many", op.Int{}, op.WarnBadValue),
		weight("as bool", true, op.Int{}, op.WarnBadValue),
		weight("as list", []int64{3}, op.Int{}, op.WarnBadValue),
		{Name: "links/dropped", Needs: Dropped, Span: dropped, Want: entry(func(e *op.Entry) {
			e.Warn = op.WarnDroppedLinks
			e.Extra = &op.Extra{DroppedLinks: 2}
		})},
	}
}
