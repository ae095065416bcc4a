package correlate_test

import (
	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/internal/tracetest"
	"github.com/optrace/optrace/op"
)

// side is the set of sides with a span.
type side uint8

const (
	local side = 1 << iota
	service
	both = local | service
)

type span struct {
	tracetest.Spec
	side side
}

func traceOf(n byte) op.TraceID { return op.TraceID{15: n} }

func idOf(n byte) op.SpanID { return op.SpanID{7: n} }

func join(spans []span) *correlate.Join {
	j := correlate.NewJoin()
	for i := range spans {
		if spans[i].side&service != 0 {
			j.AddService(spans[i].Record())
		}
		if spans[i].side&local != 0 {
			j.AddLocal(spans[i].Record())
		}
	}
	return j
}

func moved(spans []span, to side) []span {
	all := make([]span, len(spans))
	for i, s := range spans {
		s.side = to
		all[i] = s
	}
	return all
}
