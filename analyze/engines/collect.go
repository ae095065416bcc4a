package engines

import (
	"slices"
	"unsafe"

	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/op"
)

// Collector collects the spans that tell of requests. It is not safe for concurrent use.
type Collector struct {
	by    []string // attributes of the keys of rows, and behind them those of where
	names []string // of the keys of rows
	where key.Filter
	spans map[trace.SpanRef]*span
	held  int64
}

// span is what the attributes of a span tell.
type span struct {
	dialect int // -1 for one that is no request
	numbers [numNumbers]op.Int
	texts   [mark - model]string
	by      []string
	below   [execute + 1]op.Int // from spans below
	first   op.Int              // the start of the first of those
}

// New returns an empty Collector for rows by keys, of which those of attributes and the service count, of the
// requests that match where.
func New(by []key.Key, where key.Filter) *Collector {
	c := &Collector{where: where, spans: make(map[trace.SpanRef]*span)}
	for _, k := range by {
		switch name := k.String(); {
		case k.Attr() != "":
			c.by, c.names = append(c.by, k.Attr()), append(c.names, k.Attr())
		case name == "service":
			c.by, c.names = append(c.by, attrkey.ServiceName), append(c.names, name)
		}
	}
	for _, k := range where.Keys() {
		if k.Attr() != "" {
			c.by = append(c.by, k.Attr())
		}
	}
	return c
}

// Of returns a Collector with the spans of a forest that keeps their attributes of [Keys].
func Of(f *trace.Forest) *Collector {
	c := New(nil, key.Filter{})
	attrs := f.SpanAttrs()
	for r := range f.Rows() {
		if len(attrs) == 0 || f.Has(r, trace.FlagOp) {
			continue
		}
		n := f.Node(r)
		if of := attrs[trace.SpanRef{Trace: n.TraceID(), Span: n.SpanID()}]; of != nil {
			c.Add(&op.Span{Name: n.Name(), TraceID: n.TraceID(), SpanID: n.SpanID(), Duration: n.Duration(), Attrs: of})
		}
	}
	return c
}

// Bytes returns about how much memory c takes.
func (c *Collector) Bytes() int64 { return c.held }

// Add adds a span that is no operation, with the attributes of [Keys].
func (c *Collector) Add(s *op.Span) {
	if len(s.Attrs) == 0 {
		return
	}
	of := span{dialect: dialectOf(s), by: make([]string, len(c.by))}
	some := of.dialect >= 0
	for i := range attributes {
		a := &attributes[i]
		at := slices.IndexFunc(s.Attrs, func(x op.Attr) bool { return x.Key == a.key })
		if at < 0 || a.as == mark {
			continue
		}
		value := s.Attrs[at].Value
		if a.as >= model {
			some = true
			if text := &of.texts[a.as-model]; *text == "" {
				*text = value
			}
		} else if n := &of.numbers[a.as]; !n.Known {
			*n = a.number(value)
		}
	}
	for i, key := range c.by {
		if at := slices.IndexFunc(s.Attrs, func(x op.Attr) bool { return x.Key == key }); at >= 0 {
			of.by[i], some = s.Attrs[at].Value, true
		}
	}
	id := trace.SpanRef{Trace: s.TraceID, Span: s.SpanID}
	if _, again := c.spans[id]; again || !some {
		return
	}
	if of.dialect >= 0 && !of.numbers[total].Known {
		of.numbers[total] = op.Known(s.Duration)
	}
	c.spans[id] = &of
	c.held += int64(unsafe.Sizeof(of)) + int64(unsafe.Sizeof(id)) + 64
}

// Merge adds what o has collected, which must not be used any more.
func (c *Collector) Merge(o *Collector) {
	for id, s := range o.spans {
		if _, again := c.spans[id]; !again {
			c.spans[id] = s
		}
	}
	c.held += o.held
}

// Requests are those that the spans of a Collector tell of.
type Requests struct {
	collector *Collector
	forest    *trace.Forest
	list      []request
}

// Find returns the requests, in the order of f, which has the spans that were added.
func (c *Collector) Find(f *trace.Forest) *Requests { return &Requests{c, f, c.requests(f)} }

// Request is what an engine says of one request, its times in nanoseconds.
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
	Node      trace.Node `json:"-"` // its span
}

// All yields the requests.
func (r *Requests) All(yield func(Request) bool) {
	for i := range r.list {
		q := &r.list[i]
		n := r.forest.Node(q.row)
		if !yield(Request{
			Dialect: dialects[q.dialect].name, SpanID: n.SpanID(), Model: key.Value{Text: q.texts[0], Known: q.texts[0] != ""},
			TokensIn: q.numbers[tokensIn], TokensOut: q.numbers[tokensOut], QueueNS: q.numbers[queue], PrefillNS: q.numbers[prefill],
			DecodeNS: q.numbers[decode], ExecuteNS: q.numbers[execute], OtherNS: q.other, TTFTNS: q.numbers[toFirst],
			TPOTNS: q.numbers[perToken], E2ENS: q.numbers[total], Node: n,
		}) {
			return
		}
	}
}

// request is a request with its times.
type request struct {
	span
	row     int32
	service string
	other   op.Int // what the times leave of the total
}

// requests returns the requests in the order of f, which has the spans of c.
func (c *Collector) requests(f *trace.Forest) []request {
	if len(c.spans) == 0 {
		return nil
	}
	f.Build()
	rows := make(map[int32]*span)
	for r := range f.Rows() {
		if f.Flags(r)&(trace.FlagOp|trace.FlagDuplicate) == 0 {
			n := f.Node(r)
			if s := c.spans[trace.SpanRef{Trace: n.TraceID(), Span: n.SpanID()}]; s != nil {
				rows[r] = s
			}
		}
	}
	c.addBelow(f, rows)
	var list []request
	for r := range f.Rows() {
		s := rows[r]
		if s == nil || s.dialect < 0 {
			continue
		}
		q := request{span: *s, row: r, service: f.Node(r).Service()}
		q.inherit(c, f, rows)
		q.derive(f)
		if c.matches(&q, f.Node(r)) {
			list = append(list, q)
		}
	}
	return list
}

// matches reports whether a request is one of those that are asked for.
func (c *Collector) matches(q *request, n trace.Node) bool {
	e := op.Entry{Operation: n.Name(), Service: q.service, TraceID: n.TraceID(), SpanID: n.SpanID()}
	for i, value := range q.by[len(c.names):] {
		if value != "" {
			e.Attrs = append(e.Attrs, op.Attr{Key: c.by[len(c.names)+i], Value: value})
		}
	}
	return c.where.MatchRequest(&e)
}

// maxAbove bounds how far away a request's attributes and the parts of its time may be in the tree.
const maxAbove = 8

// addBelow adds the times of spans below requests.
func (c *Collector) addBelow(f *trace.Forest, rows map[int32]*span) {
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
		for range maxAbove {
			if above == trace.NoRow || rows[above] != nil && rows[above].dialect >= 0 {
				break
			}
			above = f.Tree.Parent[above]
		}
		if above == trace.NoRow || rows[above] == nil || rows[above].dialect < 0 {
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

// inherit takes texts that the request does not have from the spans above it.
func (q *request) inherit(c *Collector, f *trace.Forest, rows map[int32]*span) {
	q.by = slices.Clone(q.by)
	above := q.row
	for range maxAbove {
		if above = f.Tree.Parent[above]; above == trace.NoRow {
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
		attrkey.RequestModel: q.texts[0], attrkey.RequestRoute: q.texts[route-model], attrkey.Tenant: q.texts[tenant-model],
		attrkey.ServiceName: q.service,
	}
	for i, key := range c.by {
		if q.by[i] == "" {
			q.by[i] = known[key]
		}
	}
}

// derive fills in the times that follow from others.
func (q *request) derive(f *trace.Forest) {
	d, n := &dialects[q.dialect], &q.numbers
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
		n[execute] = op.Int{} // that is both
	} else if n[execute].Known {
		n[prefill], n[decode] = op.Int{}, op.Int{}
	}
	if !n[perToken].Known && n[decode].Known && n[tokensOut].V > 1 {
		n[perToken] = op.Known(n[decode].V / (n[tokensOut].V - 1))
	}
	known := int64(0)
	for _, part := range parts[:len(parts)-1] {
		if t := n[part.field]; t.Known {
			known, q.other.Known = known+t.V, true
		}
	}
	if q.other.Known {
		q.other.V = max(0, n[total].V-known)
	}
}

// difference returns a − b, unknown where either is, or the result is negative.
func difference(a, b op.Int) op.Int {
	if !a.Known || !b.Known || a.V < b.V {
		return op.Int{}
	}
	return op.Known(a.V - b.V)
}
