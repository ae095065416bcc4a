package jaeger

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opmodel"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/internal/spanattr"
)

// Traces collects operations and spans by trace, in the order of their first spans. The spans of a trace may be
// anywhere in the input, so a Traces holds the text of all spans until it is written. The zero value is ready to use.
// It is not safe for concurrent use.
type Traces struct {
	order    []*trace
	byID     map[op.TraceID]*trace
	resource op.Resource
	// source is the origin of the last span, and process its text. process is nil before the first span and after a
	// change of resource.
	source  source
	process []byte
	ids     spanattr.Placeholders
	bytes   int64 // of the traces
}

type trace struct {
	id op.TraceID
	// spans and processes hold the elements of a list and the members of an object, separated by commas.
	spans, processes []byte
	numbers          map[string]int // holds the number of each process by its text
}

// source is the origin of spans, a process in Jaeger's terms.
type source struct {
	service string
	rank    op.Int
}

// Resource sets the origin of the spans added next. It copies r.
func (t *Traces) Resource(r *op.Resource) {
	t.resource = *r.Clone()
	t.process = nil
}

// Add adds an operation. It does not retain e.
func (t *Traces) Add(e *op.Entry) {
	x := cmp.Or(e.Extra, &op.Extra{})
	tags := originOf(cmp.Or(x.Kind, "internal"), &op.Scope{Name: e.Scope, Version: x.Scope.Version})
	tags = append(append(tags, attrmap.Attrs(e)...), withoutReserved(e.Attrs)...)
	tags = opmodel.AppendText(tags, attrkey.JaegerTraceState, spanattr.TraceState(e.AdjustedCount))
	tags = spanattr.AppendCount(tags, attrkey.JaegerDropped, e.DroppedAttributes)
	tags = appendStatus(tags, opmodel.DroppedLinks(e.Extra), e.Failed, e.Error)
	s := span{Name: spanattr.Name(e), StartTime: e.Start.V, Duration: e.Duration, Tags: tagsOf(tags)}
	s.TraceID, s.SpanID = t.ids.IDs(e)
	s.setReferences(e.ParentSpanID, e.Links)
	t.add(&s, x.Events, source{e.Service, e.Rank})
}

// AddSpan adds a span that is not an operation. A span with a parent in another process gets kind "server", because the
// format has no other field for it.
func (t *Traces) AddSpan(o *op.Span) {
	x := cmp.Or(o.Extra, &op.Extra{})
	kind := cmp.Or(x.Kind, "internal")
	if o.RemoteParent && kind != "consumer" {
		kind = "server"
	}
	tags := append(originOf(kind, &x.Scope), withoutReserved(o.Attrs)...)
	tags = appendStatus(tags, opmodel.DroppedLinks(o.Extra), o.Failed, x.Message)
	s := span{TraceID: o.TraceID, SpanID: o.SpanID, Name: o.Name, StartTime: o.Start.V, Duration: o.Duration,
		Tags: tagsOf(tags)}
	s.setReferences(o.ParentSpanID, o.Links)
	src := source{service: o.Service}
	if o.Service == t.resource.Service {
		src.rank = t.resource.Rank
	}
	t.add(&s, x.Events, src)
}

// add adds a span with its events. Its times are in nanoseconds; an unknown start is 0.
func (t *Traces) add(s *span, events []op.Event, src source) {
	s.Logs = make([]log, len(events))
	for i := range events {
		e := &events[i]
		s.Logs[i] = log{max(0, e.Time.V) / 1000, tagsOf(append([]op.Attr{{Key: "event", Value: e.Name}}, e.Attrs...))}
	}
	to := t.byID[s.TraceID]
	if to == nil {
		if t.byID == nil {
			t.byID = make(map[op.TraceID]*trace)
		}
		to = &trace{id: s.TraceID, numbers: make(map[string]int)}
		t.byID[s.TraceID] = to
		t.order = append(t.order, to)
		t.bytes += traceBytes
	}
	before := cap(to.spans) + cap(to.processes)
	if t.process == nil || src != t.source {
		t.source = src
		t.process = t.describe(src)
	}
	s.Flags = 1
	s.StartTime = max(0, s.StartTime) / 1000
	s.Duration = max(0, s.Duration) / 1000
	s.ProcessID = to.number(t.process)
	if len(to.spans) > 0 {
		to.spans = append(to.spans, ',')
	}
	to.spans = append(append(to.spans, '\n'), textOf(s)...)
	t.bytes += int64(cap(to.spans) + cap(to.processes) - before)
}

func textOf(v any) []byte {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // texts, numbers and lists of them only
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

const traceBytes = 512

// Bytes returns about how much memory the operations and spans take.
func (t *Traces) Bytes() int64 { return t.bytes }

// describe returns the text of a process. The attributes of the last resource belong to its service.
func (t *Traces) describe(src source) []byte {
	attrs := opmodel.AppendInt(nil, attrkey.Rank, src.rank)
	if src.service == t.resource.Service {
		attrs = append(opmodel.AppendInt(attrs, attrkey.WorldSize, t.resource.WorldSize), t.resource.Attrs...)
	}
	return textOf(process{cmp.Or(src.service, attrkey.JaegerNoService), tagsOf(attrs)})
}

func (t *trace) number(process []byte) string {
	n, ok := t.numbers[string(process)]
	if !ok {
		n = len(t.numbers) + 1
		t.numbers[string(process)] = n
		if n > 1 {
			t.processes = append(t.processes, ',')
		}
		t.processes = append(fmt.Appendf(t.processes, `"p%d":`, n), process...)
	}
	return "p" + strconv.Itoa(n)
}

// Write writes the traces as one document.
func (t *Traces) Write(w io.Writer) error {
	out := bufio.NewWriter(w) // keeps the first error for Flush
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
