package correlate

import (
	"slices"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
)

// told joins the requests of which inference engines tell with those of the report.
type told struct {
	*engines.Requests
	list      []engines.Request
	endpoints []endpointName          // of list, empty for those that are not in the report
	at        map[trace.SpanRef]int   // by the span of an engine
	below     map[trace.SpanRef][]int // by that span and each above it
}

type endpointName struct{ root, service string }

// maxAbove bounds how many spans lie between the request to an engine and that of a service.
const maxAbove = 64

func newTold(f *trace.Forest) *told {
	t := &told{Requests: engines.Find(f, nil, key.Filter{}), at: make(map[trace.SpanRef]int), below: make(map[trace.SpanRef][]int)}
	t.list = slices.Collect(t.All)
	t.endpoints = make([]endpointName, len(t.list))
	for i := range t.list {
		t.at[ref(t.list[i].Node)] = i
		for n, up := t.list[i].Node, 0; up < maxAbove && !n.IsZero(); n, up = n.Parent(), up+1 {
			t.below[ref(n)] = append(t.below[ref(n)], i)
		}
	}
	return t
}

func ref(n trace.Node) trace.SpanRef { return trace.SpanRef{Trace: n.TraceID(), Span: n.SpanID()} }

// join returns the requests to engines at and below a request, or else the one above it.
func (t *told) join(q *requests.Request) (all []engines.Request) {
	of := t.below[trace.SpanRef{Trace: q.TraceID, Span: q.SpanID}]
	if of == nil && len(t.at) > 0 {
		for n, up := q.Root, 0; up < maxAbove && !n.IsZero(); n, up = n.Parent(), up+1 {
			if i, ok := t.at[ref(n)]; ok {
				of = []int{i}
				break
			}
		}
	}
	for _, i := range of {
		t.endpoints[i] = endpointName{q.Name, q.Service}
		all = append(all, t.list[i])
	}
	return all
}

// maxRows bounds the rows of engines at an endpoint.
const maxRows = 1000

func (t *told) addRows(all []Endpoint) {
	at := make(map[endpointName][]int)
	for i, name := range t.endpoints {
		at[name] = append(at[name], i)
	}
	for k := range all {
		if numbers := at[endpointName{all[k].Name, all[k].Service}]; numbers != nil {
			all[k].Engines = t.Rows(maxRows, numbers...)
		}
	}
}
