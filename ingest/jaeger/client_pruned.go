package jaeger

import (
	"bytes"

	"github.com/optrace/optrace/internal/attrkey"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
)

// The readers of spans pass over events. The summaries of pruned operations are
// the only ones that matter here, and are read in a pass of their own, which
// answers without any are spared.

// prunedV3 returns the summaries in an answer of version 3.
func prunedV3(body []byte) []op.Pruned {
	if !bytes.Contains(body, []byte(attrkey.PrunedEvent)) {
		return nil
	}
	var p prunedReader
	p.Reset(body)
	p.member("result", func() {
		p.members("resourceSpans", func() {
			p.members("scopeSpans", func() {
				p.members("spans", p.spanV3)
			})
		})
	})
	return p.found
}

// prunedV1 returns the summaries in an answer of version 1.
func prunedV1(body []byte) []op.Pruned {
	if !bytes.Contains(body, []byte(attrkey.PrunedEvent)) {
		return nil
	}
	var p prunedReader
	p.Reset(body)
	p.members("data", func() {
		p.members("spans", p.spanV1)
	})
	return p.found
}

// prunedReader collects summaries. Text that is no JSON ends it early: that is
// for the reader of the spans to report.
type prunedReader struct {
	jsontext.Lexer
	found []op.Pruned
}

// member reads an object and calls read for the member of that name.
func (p *prunedReader) member(name string, read func()) {
	if p.Peek() != '{' {
		p.Skip()
		return
	}
	for p.Object(); p.More(); {
		if string(p.Key()) == name {
			read()
		} else {
			p.Skip()
		}
	}
}

// members is member for one that is an array; read is called for its elements.
func (p *prunedReader) members(name string, read func()) {
	p.member(name, func() { p.elements(read) })
}

func (p *prunedReader) elements(read func()) {
	if p.Peek() != '[' {
		p.Skip()
		return
	}
	for p.Array(); p.More(); {
		read()
	}
}

// spanV3 reads a span with its events.
func (p *prunedReader) spanV3() {
	p.span("traceId", "spanId", "events", func(s *op.Pruned) (isSummary bool) {
		for p.Object(); p.More(); {
			switch string(p.Key()) {
			case "name":
				isSummary = p.text() == attrkey.PrunedEvent
			case "attributes":
				p.elements(func() { p.attribute(s) })
			default:
				p.Skip()
			}
		}
		return isSummary
	})
}

// spanV1 reads a span with its logs, which name the event in a field.
func (p *prunedReader) spanV1() {
	p.span("traceID", "spanID", "logs", func(s *op.Pruned) (isSummary bool) {
		p.members("fields", func() {
			if p.attribute(s) == attrkey.PrunedEvent {
				isSummary = true
			}
		})
		return isSummary
	})
}

// span reads a span whose members have the given names; event reads an event.
func (p *prunedReader) span(traceKey, spanKey, eventsKey string, event func(*op.Pruned) bool) {
	if p.Peek() != '{' {
		p.Skip()
		return
	}
	first := len(p.found)
	var trace op.TraceID
	var span op.SpanID
	for p.Object(); p.More(); {
		switch string(p.Key()) {
		case traceKey:
			trace, _ = parseTraceID([]byte(p.text()))
		case spanKey:
			span, _ = parseSpanID([]byte(p.text()))
		case eventsKey:
			p.elements(func() {
				var s op.Pruned
				if p.Peek() != '{' {
					p.Skip()
				} else if event(&s) && s.Operation != "" && s.Count > 0 {
					p.found = append(p.found, s)
				}
			})
		default:
			p.Skip()
		}
	}
	for i := range p.found[first:] {
		p.found[first+i].TraceID, p.found[first+i].SpanID = trace, span
	}
}

// attribute reads an attribute of an event, or a field of a log, into s. It
// returns the value where the key says that it names the event.
func (p *prunedReader) attribute(s *op.Pruned) (event string) {
	if p.Peek() != '{' {
		p.Skip()
		return ""
	}
	var key string
	var value []byte
	for p.Object(); p.More(); {
		switch string(p.Key()) {
		case "key":
			key = p.text()
		case "value":
			value = p.Raw()
		default:
			p.Skip()
		}
	}
	text := scalar(value)
	switch key {
	case "event":
		return text
	case attrkey.Name:
		s.Operation = text
	case attrkey.Device:
		s.DeviceID = text
	case attrkey.PrunedCount:
		s.Count = amount(text)
	case attrkey.PrunedDuration:
		s.Duration = amount(text)
	}
	return ""
}

// text reads a string; any other value gives "".
func (p *prunedReader) text() string {
	if p.Peek() != '"' {
		p.Skip()
		return ""
	}
	return string(p.Str())
}

// scalar returns a value as text: a string or number, or either within an
// object such as {"intValue":"7"}.
func scalar(value []byte) (text string) {
	var l jsontext.Lexer
	l.Reset(value)
	wrapped := l.Peek() == '{'
	if wrapped {
		if l.Object(); !l.More() {
			return ""
		}
		l.Key()
	}
	if l.Peek() == '"' {
		return string(bytes.ToValidUTF8(l.Str(), []byte("\ufffd")))
	}
	return string(l.Raw())
}

// amount returns a number that is not negative, 0 for any other text.
func amount(text string) int64 {
	n, ok := jsontext.ParseInt([]byte(text))
	if !ok || n < 0 {
		return 0
	}
	return n
}
