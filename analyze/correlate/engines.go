package correlate

import (
	"iter"
	"slices"

	"github.com/optrace/optrace/analyze/engines"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/analyze/requests"
	"github.com/optrace/optrace/analyze/trace"
)

// told joins requests reported by inference engines with the requests of the report.
type told struct {
	*engines.Requests
	list      []engines.Request
	endpoints []endpointName          // by index of list, empty for requests outside the report
	at        map[trace.SpanRef]int   // index of list by the engine's span
	below     map[trace.SpanRef][]int // indexes of list by the engine's span and each span above it
}

type endpointName struct{ root, service string }

const maxAbove = 64 // bounds the number of spans between a request to an engine and the service's request

func newTold(f *trace.Forest) *told {
	t := &told{
		Requests: engines.Find(f, nil, key.Filter{}),
		at:       make(map[trace.SpanRef]int), below: make(map[trace.SpanRef][]int),
	}
	t.list = slices.Collect(t.All)
	t.endpoints = make([]endpointName, len(t.list))
	for i := range t.list {
		t.at[ref(t.list[i].Node)] = i
		for above := range upward(t.list[i].Node) {
			t.below[above] = append(t.below[above], i)
		}
	}
	return t
}

// upward yields a span and at most maxAbove-1 spans above it.
func upward(n trace.Node) iter.Seq[trace.SpanRef] {
	return func(yield func(trace.SpanRef) bool) {
		for range maxAbove {
			if n.IsZero() || !yield(ref(n)) {
				return
			}
			n = n.Parent()
		}
	}
}

func ref(n trace.Node) trace.SpanRef { return trace.SpanRef{Trace: n.TraceID(), Span: n.SpanID()} }

// join returns the requests to engines at and below a request, or else the one above it.
func (t *told) join(q *requests.Request) (all []engines.Request) {
	of := t.below[trace.SpanRef{Trace: q.TraceID, Span: q.SpanID}]
	if of == nil && len(t.at) > 0 {
		for above := range upward(q.Root) {
			if i, ok := t.at[above]; ok {
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
