package engines

import (
	"slices"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
)

// Requests holds the requests found in a forest.
type Requests struct {
	forest *trace.Forest
	attrs  []string // of the keys of rows, then of where
	names  []string // of the keys of rows
	where  key.Filter
	list   []request
}

type span struct {
	dialect int // -1 for a span other than a request
	numbers [numNumbers]op.Int
	texts   [mark - model]string
	by      []string
	below   [execute + 1]op.Int // from spans below
	first   op.Int              // earliest start of these spans
}

// Attrs returns the span attributes used by [Find].
func Attrs(by []key.Key, where key.Filter) []string {
	attrs, _ := asked(by, where)
	return append(Keys(), attrs...)
}

// asked returns the attributes of the keys of rows, then of where, and the names of the keys of rows. Only keys of
// attributes and the service count.
func asked(by []key.Key, where key.Filter) (attrs, names []string) {
	for _, k := range by {
		switch name := k.String(); {
		case k.Attr() != "":
			attrs = append(attrs, k.Attr())
			names = append(names, k.Attr())
		case name == "service":
			attrs = append(attrs, attrkey.ServiceName)
			names = append(names, name)
		}
	}
	for _, k := range where.Keys() {
		if k.Attr() != "" {
			attrs = append(attrs, k.Attr())
		}
	}
	return attrs, names
}

// Find returns the requests in f that match where, in the order of f. f must keep the attributes in [Attrs].
// by are the keys of [Requests.Rows].
func Find(f *trace.Forest, by []key.Key, where key.Filter) *Requests {
	all := &Requests{forest: f, where: where}
	all.attrs, all.names = asked(by, where)
	f.Build()
	rows := make(map[int32]*span)
	for r := range f.Rows() {
		if f.Flags(r)&(trace.FlagOp|trace.FlagDuplicate) == 0 {
			if s := all.read(f.Node(r)); s != nil {
				rows[r] = s
			}
		}
	}
	addBelow(f, rows)
	for r := range f.Rows() {
		s := rows[r]
		if s == nil || s.dialect < 0 {
			continue
		}
		q := request{span: *s, row: r, service: f.Node(r).Service()}
		q.inherit(all, rows)
		q.derive(f)
		if all.matches(&q, f.Node(r)) {
			all.list = append(all.list, q)
		}
	}
	return all
}

// read returns the attributes of a span, nil if they do not matter.
func (r *Requests) read(n trace.Node) *span {
	attrs := r.forest.SpanAttrs(n.TraceID(), n.SpanID())
	if len(attrs) == 0 {
		return nil
	}
	s := &span{dialect: dialectOf(n.Name(), attrs), by: make([]string, len(r.attrs))}
	some := s.dialect >= 0
	for i := range attributes {
		a := &attributes[i]
		attr := opmodel.FindAttr(attrs, a.key)
		if attr == nil || a.as == mark {
			continue
		}
		if a.as >= model {
			some = true
			if text := &s.texts[a.as-model]; *text == "" {
				*text = attr.Value
			}
		} else if n := &s.numbers[a.as]; !n.Known {
			*n = a.number(attr.Value)
		}
	}
	for i, key := range r.attrs {
		if attr := opmodel.FindAttr(attrs, key); attr != nil {
			s.by[i] = attr.Value
			some = true
		}
	}
	if !some {
		return nil
	}
	if s.dialect >= 0 && !s.numbers[total].Known {
		s.numbers[total] = op.Known(n.Duration())
	}
	return s
}

// Request is an engine's report on one request, with times in nanoseconds.
type Request struct {
	Dialect   string     `json:"dialect"`
	SpanID    op.SpanID  `json:"span_id"`
	Model     key.Value  `json:"model"`
	TokensIn  op.Int     `json:"tokens_in"`
	TokensOut op.Int     `json:"tokens_out"`
	QueueNS   op.Int     `json:"queue_ns"`
	PrefillNS op.Int     `json:"prefill_ns"`
	DecodeNS  op.Int     `json:"decode_ns"`
	ExecuteNS op.Int     `json:"execute_ns"`
	OtherNS   op.Int     `json:"other_ns"`
	TTFTNS    op.Int     `json:"ttft_ns"`
	TPOTNS    op.Int     `json:"tpot_ns"`
	E2ENS     op.Int     `json:"e2e_ns"`
	Cached    op.Int     `json:"-"` // of TokensIn, read from a cache
	Node      trace.Node `json:"-"` // its span
}

// All yields the requests in order.
func (r *Requests) All(yield func(Request) bool) {
	for i := range r.list {
		q := &r.list[i]
		n := r.forest.Node(q.row)
		if !yield(Request{
			Dialect: dialects[q.dialect].name, SpanID: n.SpanID(),
			Model:    key.Value{Text: q.texts[0], Known: q.texts[0] != ""},
			TokensIn: q.numbers[tokensIn], TokensOut: q.numbers[tokensOut], Cached: q.numbers[tokensCached],
			QueueNS: q.numbers[queue], PrefillNS: q.numbers[prefill], DecodeNS: q.numbers[decode],
			ExecuteNS: q.numbers[execute], OtherNS: q.numbers[other],
			TTFTNS: q.numbers[toFirst], TPOTNS: q.numbers[perToken], E2ENS: q.numbers[total], Node: n,
		}) {
			return
		}
	}
}

type request struct {
	span
	row     int32
	service string
}

func (r *Requests) matches(q *request, n trace.Node) bool {
	e := op.Entry{Operation: n.Name(), Service: q.service, TraceID: n.TraceID(), SpanID: n.SpanID()}
	for i, value := range q.by[len(r.names):] {
		if value != "" {
			e.Attrs = append(e.Attrs, op.Attr{Key: r.attrs[len(r.names)+i], Value: value})
		}
	}
	return r.where.MatchRequest(&e)
}

const maxAbove = 8 // bounds the distance in the tree of a request's attributes and of the parts of its time

func addBelow(f *trace.Forest, rows map[int32]*span) {
	names := make(map[string]bool)
	for _, s := range rows {
		if s.dialect >= 0 {
			for name := range dialects[s.dialect].below {
				names[name] = true
			}
		}
	}
	if len(names) == 0 {
		return
	}
	for r := range f.Rows() {
		if f.Flags(r)&(trace.FlagOp|trace.FlagDuplicate) != 0 || !names[f.Node(r).Name()] {
			continue
		}
		above := f.Tree.Parent[r]
		isRequest := func(r int32) bool { return rows[r] != nil && rows[r].dialect >= 0 }
		for n := 1; n < maxAbove && above != trace.NoRow && !isRequest(above); n++ {
			above = f.Tree.Parent[above]
		}
		if above == trace.NoRow || !isRequest(above) {
			continue
		}
		s := rows[above]
		if as, ok := dialects[s.dialect].below[f.Node(r).Name()]; ok {
			s.below[as] = op.Known(s.below[as].V + f.Duration(r))
			if f.Has(r, trace.FlagStart) && (!s.first.Known || f.Start(r) < s.first.V) {
				s.first = op.Known(f.Start(r))
			}
		}
	}
}

func (q *request) inherit(r *Requests, rows map[int32]*span) {
	q.by = slices.Clone(q.by)
	above := q.row
	for range maxAbove {
		if above = r.forest.Tree.Parent[above]; above == trace.NoRow {
			break
		}
		s := rows[above]
		if s == nil {
			continue
		}
		for i := range q.texts {
			if q.texts[i] == "" {
				q.texts[i] = s.texts[i]
			}
		}
		for i := range q.by {
			if q.by[i] == "" {
				q.by[i] = s.by[i]
			}
		}
	}
	known := map[string]string{
		attrkey.RequestModel: q.texts[0], attrkey.RequestRoute: q.texts[route-model],
		attrkey.Tenant: q.texts[tenant-model], attrkey.ServiceName: q.service,
	}
	for i, key := range r.attrs {
		if q.by[i] == "" {
			q.by[i] = known[key]
		}
	}
}

func (q *request) derive(f *trace.Forest) {
	d := &dialects[q.dialect]
	n := &q.numbers
	for i, of := range q.below {
		if of.Known {
			n[i] = of
		}
	}
	if d.queued && q.first.Known && f.Has(q.row, trace.FlagStart) {
		n[queue] = op.Known(max(0, q.first.V-f.Start(q.row)))
	}
	if d.prefillQueues {
		n[prefill] = difference(n[prefill], op.Known(n[queue].V))
	}
	if !n[decode].Known && !n[execute].Known {
		n[decode] = difference(n[total], n[toFirst])
	}
	if !n[prefill].Known && !n[execute].Known && n[queue].Known {
		n[prefill] = difference(n[toFirst], n[queue])
	}
	if n[prefill].Known && n[decode].Known {
		n[execute] = op.Int{} // the sum of both
	} else if n[execute].Known {
		n[prefill] = op.Int{}
		n[decode] = op.Int{}
	}
	if !n[perToken].Known && n[decode].Known && n[tokensOut].V > 1 {
		n[perToken] = op.Known(n[decode].V / (n[tokensOut].V - 1))
	}
	known := int64(0)
	for _, part := range parts[:len(parts)-1] {
		if t := n[part.field]; t.Known {
			known += t.V
			n[other] = op.Known(max(0, n[total].V-known))
		}
	}
}

// difference returns a − b, unknown if either is unknown or the result is negative.
func difference(a, b op.Int) op.Int {
	if !a.Known || !b.Known || a.V < b.V {
		return op.Int{}
	}
	return op.Known(a.V - b.V)
}
