package kineto

import (
	"strings"

	"github.com/optrace/optrace/ingest/internal/attrjson"
	"github.com/optrace/optrace/ingest/internal/traceevent"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/model/opfile"
	"github.com/optrace/optrace/internal/text/intern"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
)

// ownArguments are the arguments of a plain span beside its attributes: its ids, and the arguments that package
// render/chrome adds. It is reused for the next span.
type ownArguments struct {
	lex     lexer.Lexer
	strings intern.Table

	ownValues
	links []op.Link
	extra op.Extra
}

type ownValues struct {
	op.Span               // but for its name and times
	scope, message, state string
	dropped, droppedLinks int64
	emptyDevice, noStart  bool
}

// read reads the arguments in objects of valid JSON or nil, and feeds the others.
func (a *ownArguments) read(feed *attrjson.Feeder, texts ...[]byte) {
	a.ownValues = ownValues{}
	a.links = a.links[:0]
	for _, text := range texts {
		if text == nil {
			continue
		}
		a.lex.Reset(text)
		for a.lex.Object(); a.lex.More(); {
			if key := a.lex.Key(); !a.argument(key) {
				feed.Member(&a.lex, key)
			}
		}
	}
}

// argument reads the value of a key and reports whether the key is one of these arguments. Otherwise it reads no value.
// It ignores a value of another type.
func (a *ownArguments) argument(key []byte) bool {
	l := &a.lex
	switch string(key) {
	case "trace_id":
		a.TraceID, _ = op.ParseTraceID(l.AnyStr())
	case "span_id":
		a.SpanID, _ = op.ParseSpanID(l.AnyStr())
	case "parent_span_id":
		a.ParentSpanID, _ = op.ParseSpanID(l.AnyStr())
	case "optrace.parent_remote":
		a.RemoteParent = a.isTrue()
	case attrkey.ServiceName:
		a.Service = a.text()
	case "otel.scope.name":
		a.scope = a.text()
	case "optrace.error":
		a.Failed = l.Peek() == '"'
		a.message = a.text()
	case "optrace.trace_state":
		a.state = a.text()
	case "optrace.dropped_attributes":
		a.dropped = readCount(l).V
	case "optrace.empty_device":
		a.emptyDevice = a.isTrue()
	case "optrace.start_unix_ns":
		a.noStart = l.Peek() == 'n'
		l.Skip()
	case "optrace.dropped_links":
		a.droppedLinks = readCount(l).V
	case "optrace.links":
		a.readLinks()
	default:
		return false
	}
	return true
}

func (a *ownArguments) text() string {
	return strings.ToValidUTF8(a.strings.String(a.lex.AnyStr()), "\ufffd")
}

func (a *ownArguments) isTrue() bool { return string(a.lex.Raw()) == "true" }

func (a *ownArguments) readLinks() {
	l := &a.lex
	for more := l.AnyArray(); more && l.More(); {
		if !l.AnyObject() {
			continue
		}
		var link op.Link
		for l.More() {
			switch string(l.Key()) {
			case "trace_id":
				link.TraceID, _ = op.ParseTraceID(l.AnyStr())
			case "span_id":
				link.SpanID, _ = op.ParseSpanID(l.AnyStr())
			case "weight":
				link.Weight = readCount(l)
			case "weight_attention":
				link.Attention = readCount(l)
			default:
				l.Skip()
			}
		}
		if !link.TraceID.IsZero() && !link.SpanID.IsZero() && len(a.links) < op.MaxLinks {
			a.links = append(a.links, link)
		}
	}
}

func (a *ownArguments) complete(b *attrmap.Builder, e *op.Entry) {
	if !a.TraceID.IsZero() || !a.SpanID.IsZero() || !a.ParentSpanID.IsZero() {
		b.SetIDs(a.TraceID, a.SpanID, a.ParentSpanID)
	}
	e.Service, e.Scope, e.DroppedAttributes = a.Service, a.scope, a.dropped
	if a.dropped > 0 {
		e.Warn |= op.WarnDroppedAttributes
	}
	if a.Failed {
		b.SetError(a.message)
	}
	b.SetTraceState(a.state)
	e.EmptyDevice = a.emptyDevice && e.DeviceID == ""
	if a.noStart {
		e.Start = op.Int{}
	}
	if len(a.links) > 0 {
		e.Links = a.links
	}
	if a.droppedLinks > 0 {
		e.Extra = a.withDropped(e.Extra)
		e.Warn |= op.WarnDroppedLinks
	}
}

func (a *ownArguments) withDropped(x *op.Extra) *op.Extra {
	if x == nil {
		x = &a.extra
		a.extra = op.Extra{}
	}
	x.DroppedLinks = a.droppedLinks
	return x
}

func (a *ownArguments) span(name string, start op.Int, dur int64) *op.Span {
	a.Name = strings.ToValidUTF8(name, "\ufffd")
	a.Duration = max(0, dur)
	if !a.noStart {
		a.Start = start
	}
	if len(a.links) > 0 {
		a.Links = a.links
	}
	if a.droppedLinks > 0 {
		a.Extra = a.withDropped(nil)
	}
	return &a.Span
}

// plainSpan yields a span of a plain Chrome trace. taken is false for a span without content, wanted if the consumer
// wants no more. args and then more are its arguments.
func (r *reader) plainSpan(name []byte, start, dur int64, args, more []byte) (wanted, taken bool) {
	base := r.timeBase()
	b := r.build
	b.Reset()
	own := &r.own
	own.read(r.feed, args, more)
	spanName := r.names.String(name)
	b.SetName(spanName)
	b.SetTime(opfile.UnixTime(base.V, start), dur)
	rec := op.Record{}
	if e, ok := b.Entry(); ok {
		own.complete(b, e)
		rec.Entry = e
	} else if !own.SpanID.IsZero() {
		rec.Span = own.span(spanName, opfile.UnixTime(base.V, start), dur)
	} else {
		return true, false
	}
	if !base.Known {
		r.baseless++
	}
	return r.yield(rec, nil), true
}

const maxOpenBytes = 64 << 20

type pairs struct {
	open  map[uint32][]beginning
	count int64 // of the open spans
	bytes int64
}

type beginning struct {
	name, args []byte
	start      int64
}

func (b *beginning) size() int64 {
	const header = 64
	return int64(len(b.name)+len(b.args)) + header
}

func (r *reader) begin(e *traceevent.Event) {
	p := &r.pairs
	b := beginning{start: e.Start.V}
	b.name = append(b.name, e.Name...)
	b.args = append(b.args, e.Args...)
	if p.bytes+b.size() > maxOpenBytes {
		r.skipped[op.SkipUnpaired]++
		return
	}
	if p.open == nil {
		p.open = make(map[uint32][]beginning)
	}
	thread := r.tables.addThread(e)
	p.open[thread] = append(p.open[thread], b)
	p.count++
	p.bytes += b.size()
}

// end yields the last open span of the thread and reports whether the consumer wants more. The span has the arguments
// of both ends.
func (r *reader) end(e *traceevent.Event) bool {
	p := &r.pairs
	thread := r.tables.addThread(e)
	open := p.open[thread]
	if len(open) == 0 {
		r.skipped[op.SkipUnpaired]++
		return true
	}
	b := open[len(open)-1]
	p.open[thread] = open[:len(open)-1]
	p.count--
	p.bytes -= b.size()
	more, taken := r.plainSpan(b.name, b.start, e.Start.V-b.start, b.args, e.Args)
	if !taken {
		r.skipped[op.SkipNonOp]++
	}
	return more
}
