package jaeger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Trace is one trace as Jaeger holds it.
type Trace struct {
	ID op.TraceID
	// Entries are the operations, Spans the other spans.
	Entries []*op.Entry
	Spans   []op.Span
	// Pruned sums up operations that were not sent to Jaeger one by one.
	Pruned []op.Pruned

	start op.Int // the earliest, in Unix nanoseconds
}

// starts notes the start of one of its spans.
func (t *Trace) starts(start op.Int) {
	if start.Known && (!t.start.Known || start.V < t.start.V) {
		t.start = start
	}
}

// Trace returns the trace with the id, and the records that could not be read. The error is [ErrTraceNotFound] where
// Jaeger does not hold it; a *[op.SyntaxError] where it does and cannot hand it out, which is no reason not to ask for
// others; and any other where Jaeger cannot be asked.
func (c *Client) Trace(ctx context.Context, id op.TraceID) (*Trace, []*op.SyntaxError, error) {
	ans, err := c.call(ctx, request{
		below: "/" + id.String(),
		// Adjusted spans differ from the spans sent: Jaeger moves them and adds to them.
		query: map[version]url.Values{v3: {"raw_traces": {"true"}}, v1: {"raw": {"true"}}},
	})
	failed, ok := errors.AsType[*answerError](err)
	switch {
	case ok && failed.isNotFound():
		return nil, nil, fmt.Errorf("%w: %s", ErrTraceNotFound, id)
	case ok && failed.isNotFinite():
		return nil, nil, &op.SyntaxError{File: failed.url, Offset: -1, Class: op.ErrorRecord,
			Msg: "trace with a number that is not finite, which Jaeger cannot hand out"}
	case errors.Is(err, errTooLarge):
		return nil, nil, &op.SyntaxError{File: c.Base(), Offset: -1, Class: op.ErrorLimit, Msg: "trace left out, " +
			err.Error()}
	case err != nil:
		return nil, nil, err
	}
	if t := ans.byID[id]; t != nil {
		return t, ans.problems, nil
	}
	return nil, nil, fmt.Errorf("%w: %s", ErrTraceNotFound, id)
}

var errCutOff = errors.New("the answer was cut off")

// answer is an answer of the server, by trace in the order of first appearance.
type answer struct {
	url      string
	traces   []*Trace
	byID     map[op.TraceID]*Trace
	problems []*op.SyntaxError // records that could not be read, the first ones
	untold   int               // further ones
}

// maxProblems is how many problems of an answer are told one by one.
const maxProblems = 100

// decode reads an answer and collects the records of each trace, which version 3 does not promise to keep together.
func (c *Client) decode(v version, url string, body []byte) (*answer, error) {
	ans := &answer{url: url, byID: make(map[op.TraceID]*Trace)}
	for rec, err := range c.records(v, url, body, c.opts.Mapping) {
		syntax, ok := errors.AsType[*op.SyntaxError](err)
		switch {
		case ok && syntax.Truncated:
			return nil, errCutOff
		case ok:
			ans.problem(syntax)
		case errors.Is(err, errTraceTooLarge):
			return nil, fmt.Errorf("%w: %w", errTooLarge, err)
		case err != nil:
			return nil, err
		case rec.Entry != nil:
			if t := ans.trace(rec.Entry.TraceID); t != nil {
				t.Entries = append(t.Entries, rec.Entry.Clone())
				t.starts(rec.Entry.Start)
			}
		case rec.Span != nil:
			if t := ans.trace(rec.Span.TraceID); t != nil {
				t.Spans = append(t.Spans, *rec.Span.Clone())
				t.starts(rec.Span.Start)
			}
		}
	}
	// Readers of spans pass over events unless everything is kept, so that an answer with summaries, which are events,
	// is read once more. What is wrong with it has been told.
	if bytes.Contains(body, []byte(attrkey.PrunedEvent)) {
		m := new(attr.Mapping)
		m.KeepAll()
		for rec, err := range c.records(v, url, body, m) {
			if err == nil {
				ans.addPruned(rec)
			}
		}
	}
	if ans.untold > 0 {
		ans.problems = append(ans.problems, &op.SyntaxError{File: url, Offset: -1, Class: op.ErrorOther,
			Msg: fmt.Sprintf("%d further problems of this answer are not told", ans.untold)})
	}
	return ans, nil
}

// records reads the spans of an answer, whose white space it may change.
func (c *Client) records(v version, url string, body []byte, m *attr.Mapping) iter.Seq2[op.Record, error] {
	if v == v1 {
		return RecordsHolding(bytes.NewReader(body), url, m, upTo(c.opts.MaxMemory/2, nil))
	}
	// An answer is one document. Lines in it would look like documents of their own, and between the tokens any white
	// space is as good as another.
	for i := range body {
		if body[i] == '\n' {
			body[i] = ' '
		}
	}
	return otlp.JSONRecords(bytes.NewReader(body), url, m)
}

// trace returns the trace with an id, nil for none: what belongs to no trace cannot be shown in any.
func (a *answer) trace(id op.TraceID) *Trace {
	if id.IsZero() {
		a.problem(&op.SyntaxError{File: a.url, Offset: -1, Class: op.ErrorRecord,
			Msg: "span without the id of its trace"})
		return nil
	}
	t := a.byID[id]
	if t == nil {
		t = &Trace{ID: id}
		a.byID[id] = t
		a.traces = append(a.traces, t)
	}
	return t
}

func (a *answer) problem(p *op.SyntaxError) {
	if len(a.problems) < maxProblems {
		a.problems = append(a.problems, p)
	} else {
		a.untold++
	}
}

// addPruned adds the summaries of pruned operations among the events of a span to its trace.
func (a *answer) addPruned(rec op.Record) {
	var extra *op.Extra
	var p op.Pruned
	if e, s := rec.Entry, rec.Span; e != nil {
		extra = e.Extra
		p.TraceID = e.TraceID
		p.SpanID = e.SpanID
	} else if s != nil {
		extra = s.Extra
		p.TraceID = s.TraceID
		p.SpanID = s.SpanID
	}
	t := a.byID[p.TraceID]
	if extra == nil || t == nil {
		return
	}
	for i := range extra.Events {
		if extra.Events[i].Name != attrkey.PrunedEvent {
			continue
		}
		p.Operation, p.DeviceID, p.Count, p.Duration = "", "", 0, 0
		for _, attr := range extra.Events[i].Attrs {
			amount, _ := strconv.ParseInt(attr.Value, 10, 64)
			switch attr.Key {
			case attrkey.Name:
				p.Operation = attr.Value
			case attrkey.Device:
				p.DeviceID = attr.Value
			case attrkey.PrunedCount:
				p.Count = amount
			case attrkey.PrunedDuration:
				p.Duration = max(0, amount)
			}
		}
		if p.Operation != "" && p.Count > 0 {
			t.Pruned = append(t.Pruned, p)
		}
	}
}
