package jaeger

import (
	"bytes"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// pruned returns the summaries of pruned operations in an answer, which are events of spans. Readers of spans
// pass over events unless everything is kept, so that an answer with summaries is read once more. What is wrong
// with it has been told.
func (c *Client) pruned(a api, url string, body []byte) (found []op.Pruned) {
	if !bytes.Contains(body, []byte(attrkey.PrunedEvent)) {
		return nil
	}
	m := new(attr.Mapping)
	m.KeepAll()
	for rec, err := range a.records(body, url, m, c.opts.MaxMemory/2) {
		if err != nil {
			continue
		}
		switch {
		case rec.Entry != nil && rec.Entry.Extra != nil:
			found = appendPruned(found, rec.Entry.Extra.Events, rec.Entry.TraceID, rec.Entry.SpanID)
		case rec.Span != nil && rec.Span.Extra != nil:
			found = appendPruned(found, rec.Span.Extra.Events, rec.Span.TraceID, rec.Span.SpanID)
		}
	}
	return found
}

// appendPruned appends the summaries among the events of a span.
func appendPruned(dst []op.Pruned, events []op.Event, trace op.TraceID, span op.SpanID) []op.Pruned {
	for i := range events {
		if events[i].Name != attrkey.PrunedEvent {
			continue
		}
		p := op.Pruned{TraceID: trace, SpanID: span}
		for _, a := range events[i].Attrs {
			if a.Type == op.AttrJSON {
				continue
			}
			switch a.Key {
			case attrkey.Name:
				p.Operation = a.Value
			case attrkey.Device:
				p.DeviceID = a.Value
			case attrkey.PrunedCount:
				p.Count = amount(a.Value)
			case attrkey.PrunedDuration:
				p.Duration = amount(a.Value)
			}
		}
		if p.Operation != "" && p.Count > 0 {
			dst = append(dst, p)
		}
	}
	return dst
}

// amount returns a number that is not negative, 0 for any other text.
func amount(text string) int64 {
	n, ok := jsontext.ParseInt([]byte(text))
	if !ok || n < 0 {
		return 0
	}
	return n
}
