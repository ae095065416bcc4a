package jaeger

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/spanattr"
)

// Traces collects operations and spans by trace, in the order of their first
// spans.
//
// The format groups spans by trace, and the spans of a trace may be anywhere in
// the input, so a Traces holds the text of all of them until it is written. The
// zero value is ready to use. It is not safe for concurrent use.
type Traces struct {
	order    []*trace
	byID     map[op.TraceID]*trace
	resource op.Resource
	// source is the origin of the last span, and process its text; nil before the
	// first span and after a change of resource.
	source  source
	process []byte
	tags    tags
	ids     spanattr.Placeholders
	bytes   int64 // that the traces take
}

// trace is the text of one trace.
type trace struct {
	id op.TraceID
	// spans and processes hold the elements of a list and the members of an object,
	// separated by commas.
	spans, processes []byte
	// numbers holds the number of each process by its text.
	numbers map[string]int
}

// source is the origin of spans, which Jaeger calls a process.
type source struct {
	service string
	rank    op.Int
}

// noService is the name that Jaeger uses for a resource without service.name.
const noService = "missing-service-name"

// Resource sets the origin of the spans that are added next. It copies r.
func (t *Traces) Resource(r *op.Resource) {
	t.resource = *r
	t.resource.Attrs = slices.Clone(r.Attrs)
	t.process = nil
}

// Add adds an operation. It does not retain e.
func (t *Traces) Add(e *op.Entry) {
	traceID, spanID := t.ids.IDs(e)
	s := span{
		name: spanattr.Name(e), trace: traceID, id: spanID, parent: e.ParentSpanID, start: e.Start.V, duration: e.Duration,
		failed: e.Failed, message: e.Error, links: e.Links, extra: e.Extra,
	}
	t.add(&s, source{e.Service, e.Rank}, func(l *tags) { appendEntry(l, e) })
}

// AddSpan adds a span that is not an operation. A span whose parent is in another
// process gets the kind "server", as the format has no other field for that.
func (t *Traces) AddSpan(o *op.Span) {
	s := span{
		name: o.Name, trace: o.TraceID, id: o.SpanID, parent: o.ParentSpanID, start: o.Start.V, duration: o.Duration,
		failed: o.Failed, links: o.Links, extra: o.Extra,
	}
	src := source{service: o.Service}
	if o.Service == t.resource.Service {
		src.rank = t.resource.Rank
	}
	kind, scope := kindInternal, op.Scope{}
	if x := o.Extra; x != nil {
		kind, scope = kindOf(x), x.Scope
		s.message = x.Message
	}
	if o.RemoteParent && kind != "consumer" {
		kind = kindServer
	}
	t.add(&s, src, func(l *tags) {
		appendOrigin(l, kind, &scope)
		appendAttrs(l, o.Attrs)
	})
}

func (t *Traces) add(s *span, src source, describe func(*tags)) {
	to := t.byID[s.trace]
	if to == nil {
		if t.byID == nil {
			t.byID = make(map[op.TraceID]*trace)
		}
		to = &trace{id: s.trace, numbers: make(map[string]int)}
		t.byID[s.trace] = to
		t.order = append(t.order, to)
		t.bytes += traceBytes
	}
	before := cap(to.spans) + cap(to.processes)
	if t.process == nil || src != t.source {
		t.source, t.process = src, t.describe(src)
	}
	process := to.number(t.process)
	if len(to.spans) > 0 {
		to.spans = append(to.spans, ',')
	}
	t.tags.buf = s.appendHead(to.spans)
	describe(&t.tags)
	s.appendStatus(&t.tags)
	t.tags.buf = append(t.tags.end(), `],"logs":[`...)
	s.appendLogs(&t.tags)
	to.spans = append(t.tags.buf, `],"processID":"p`...)
	to.spans = append(strconv.AppendInt(to.spans, int64(process), 10), `","warnings":null}`...)
	t.tags.buf = nil
	t.bytes += int64(cap(to.spans) + cap(to.processes) - before)
}

// traceBytes is about what a trace takes beside its text.
const traceBytes = 512

// Bytes returns about how much memory the operations and spans take.
func (t *Traces) Bytes() int64 { return t.bytes }

// describe returns the text of a process. The attributes of the last resource
// belong to its service.
func (t *Traces) describe(src source) []byte {
	name := src.service
	if name == "" {
		name = noService
	}
	l := tags{buf: append(jsontext.AppendString([]byte(`{"serviceName":`), name), `,"tags":[`...)}
	l.known(attrkey.Rank, src.rank)
	if src.service == t.resource.Service {
		l.known(attrkey.WorldSize, t.resource.WorldSize)
		for i := range t.resource.Attrs {
			l.attr(&t.resource.Attrs[i])
		}
	}
	return append(l.end(), "]}"...)
}

// number returns the number of a process in the trace, from 1.
func (t *trace) number(process []byte) int {
	if n, ok := t.numbers[string(process)]; ok {
		return n
	}
	n := len(t.numbers) + 1
	t.numbers[string(process)] = n
	if n > 1 {
		t.processes = append(t.processes, ',')
	}
	t.processes = strconv.AppendInt(append(t.processes, `"p`...), int64(n), 10)
	t.processes = append(append(t.processes, `":`...), process...)
	return n
}

// Write writes the traces as one document.
func (t *Traces) Write(w io.Writer) error {
	out := bufio.NewWriter(w) // which keeps the first error for Flush
	out.WriteString(`{"data":[`)
	for i, tr := range t.order {
		if i > 0 {
			out.WriteByte(',')
		}
		// The processes come first, so that readers need not hold the spans.
		out.WriteString("\n" + `{"traceID":"` + tr.id.String() + `","processes":{`)
		out.Write(tr.processes)
		out.WriteString(`},"spans":[`)
		out.Write(tr.spans)
		out.WriteString("]}")
	}
	out.WriteString("\n]}\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing Jaeger JSON: %w", err)
	}
	return nil
}
