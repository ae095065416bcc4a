package correlate

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/optrace/optrace/analyze/blame"
	"github.com/optrace/optrace/analyze/path"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
)

// annotationID returns the id of the span that annotates a request. It depends on the request only.
func annotationID(id op.TraceID, root op.SpanID) (span op.SpanID) {
	sum := sha256.Sum256(slices.Concat([]byte("optrace correlate -annotate "), id[:], root[:]))
	copy(span[:], sum[:])
	return span
}

// Annotations returns a span for each request with a start and without an annotation, to be stored below it. page is the
// address of the page with the operations.
func (r *Report) Annotations(page string) []op.Span {
	byRequest := make(map[trace.SpanRef][]*blame.Blame)
	for i := range r.Blame {
		v := &r.Blame[i].Victim
		ref := trace.SpanRef{Trace: v.TraceID, Span: v.RootSpanID}
		byRequest[ref] = append(byRequest[ref], &r.Blame[i])
	}
	var all []op.Span
	for i := range r.Requests {
		q := &r.Requests[i]
		if q.StartNS.Known && q.DurationNS.V > 0 && !q.Annotated && !q.TraceID.IsZero() {
			all = append(all, r.annotation(q, byRequest[trace.SpanRef{Trace: q.TraceID, Span: q.RootSpanID}], page))
		}
	}
	return all
}

const (
	maxAnnotated = 10   // operations and events
	leastInName  = 0.05 // of the duration
)

func (r *Report) annotation(q *Request, blame []*blame.Blame, page string) op.Span {
	share := func(ns int64) float64 { return float64(ns) / float64(q.DurationNS.V) }
	kinds := make(map[string]int64)
	var operations, delays []string
	var events []op.Event
	for i := range q.CriticalPath {
		p := &q.CriticalPath[i]
		kinds[p.Kind] += p.TimeNS
		if p.Kind == path.KindHost || len(operations) == maxAnnotated {
			continue
		}
		name := requests.NameInText(p.Operation)
		if !p.IsNone() && p.DeviceID != "" {
			name += " on " + p.DeviceID
		}
		took := units.Duration(p.TimeNS)
		operations = append(operations, fmt.Sprintf("%s %s (%s)", name, took, units.Percent(share(p.TimeNS))))
		if p.StartNS.Known {
			events = append(events, op.Event{Name: name + ", " + took + " of the critical path", Time: p.StartNS})
		}
	}
	var parts []string
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(kinds[b], kinds[a]), cmp.Compare(a, b))
	}) {
		if len(parts) < 2 && share(kinds[kind]) >= leastInName {
			parts = append(parts, fmt.Sprintf("%s %.0f %%", kind, 100*share(kinds[kind])))
		}
	}
	for _, b := range blame {
		if b.Culprit == nil {
			continue
		}
		if len(delays) == 0 && share(b.NS) >= leastInName {
			parts = append(parts, fmt.Sprintf("waited for %s %.0f %%", short(b.Culprit), 100*share(b.NS)))
		}
		delays = append(delays, "waited "+units.Duration(b.NS)+" behind "+b.Behind)
	}
	if q.QueuedNS > 0 && share(q.QueuedNS) >= leastInName {
		parts = append(parts, fmt.Sprintf("queued %.0f %%", 100*share(q.QueuedNS)))
	}
	if len(parts) == 0 {
		parts = append(parts, "no operation on its path")
	}
	slices.SortFunc(events, func(a, b op.Event) int { return cmp.Compare(a.Time.V, b.Time.V) })
	attrs := appendList(nil, attrkey.RequestOperations, operations)
	attrs = appendList(attrs, attrkey.RequestBlame, delays)
	if c := q.Charge; c != nil {
		price := c.Cost.String() + " " + r.Price.Currency
		if c.SavedCost != nil {
			price += ", without it " + c.SavedCost.String() + " less"
		}
		attrs = append(attrs, op.Attr{Key: attrkey.RequestPrice, Value: price})
	}
	if page != "" {
		attrs = append(attrs, op.Attr{
			Key: attrkey.RequestPage, Value: strings.TrimRight(page, "/") + "/trace/" + q.TraceID.String(),
		})
	}
	return op.Span{
		Name: "optrace: " + strings.Join(parts, ", "), Service: q.Service, TraceID: q.TraceID,
		ParentSpanID: q.RootSpanID, SpanID: annotationID(q.TraceID, q.RootSpanID), Start: q.StartNS,
		Duration: q.DurationNS.V, Attrs: attrs, Extra: &op.Extra{Events: events, Kind: "internal"},
	}
}

// short names a culprit without its request's name.
func short(p *blame.Party) string {
	if p.Step != "" {
		return requests.NameInText(p.Step)
	}
	return p.Name[strings.LastIndexByte(p.Name, ' ')+1:]
}

func appendList(attrs []op.Attr, key string, texts []string) []op.Attr {
	if len(texts) == 0 {
		return attrs
	}
	text, _ := json.Marshal(texts) // strings have no error
	return append(attrs, op.Attr{Key: key, Value: string(text), Type: op.AttrJSON})
}
