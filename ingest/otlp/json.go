package otlp

import (
	"fmt"
	"io"
	"iter"

	"github.com/optrace/optrace/ingest/otlp/internal/spans"
	"github.com/optrace/optrace/internal/jsontext"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// JSONRecords reads OTLP JSON: one document or several, on a line each or
// spread over lines. Jaeger's api_v3 answers, which wrap the document in a
// "result", are read too. name stands for src in errors; m is the table from
// attribute keys to fields, nil for the conventions.
func JSONRecords(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error] {
	return NewJSONReader(m).Records(src, name, op.Position{}, false)
}

// JSONReader is JSONRecords for several files, or parts of files, one after the
// other. It keeps its buffers, and the strings and attribute keys it has met. It is
// not safe for concurrent use.
type JSONReader struct{ r *jsonReader }

// NewJSONReader returns a reader; m is the table from attribute keys to fields,
// nil for the conventions.
func NewJSONReader(m *attr.Mapping) *JSONReader {
	return &JSONReader{r: newJSONReader(spans.New(m))}
}

// Records reads src, which starts at a position of the file called name. With lines
// documents are known to be lines; otherwise the reader finds out. In either case one
// may be spread over lines that begin with a brace alone.
func (jr *JSONReader) Records(src io.Reader, name string, at op.Position, lines bool) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		r := jr.r
		r.start(yield)
		r.lines = lines
		r.w.reset(src, name, at)
		r.documents()
	}
}

// jsonReader walks the documents of a stream.
type jsonReader struct {
	*spans.JSON
	w window
	// lines is set once two documents were lines, and linewise if the one under way is
	// taken for a line: where it is cut off, it ends with the line.
	lines, linewise bool
	// known is of what the reader is within: noElement, or aResource or aScope where the
	// header of that has been read.
	known element
	// isResult is set if the document is the result of an answer.
	isResult bool
	// found is set if the document has a member of OTLP, other if it has any other.
	found, other bool
	faults       int // errors so far
}

func newJSONReader(d *spans.Decoder) *jsonReader {
	r := new(jsonReader)
	r.JSON = spans.NewJSON(d, &r.w.lex)
	r.w.reset(nil, "", op.Position{})
	return r
}

// start makes r yield the records of another input.
func (r *jsonReader) start(yield spans.YieldFunc) {
	r.Yield, r.Stopped, r.faults = yield, false, 0
	r.lines, r.linewise = false, false
}

// going reports whether the walk goes on.
func (r *jsonReader) going() bool { return !r.Stopped && !r.w.failed() }

// read runs a step of the window that reads a message.
func (r *jsonReader) read(parse func()) {
	r.w.do(func(*jsontext.Lexer) { parse() })
}

// documents reads until the end of the input.
func (r *jsonReader) documents() {
	w := &r.w
	for !r.Stopped {
		w.lex.OneLine(false)
		if w.peek() == 0 && !w.failed() && w.lex.AtEnd() {
			break
		}
		r.lines = r.lines || w.startsLines()
		r.linewise = r.lines && !w.startsSpread()
		w.lex.OneLine(r.linewise)
		r.document()
		if !r.next() {
			break
		}
	}
	if err := w.sourceError(); err != nil && !r.Stopped {
		r.Emit(op.Record{}, fmt.Errorf("reading OTLP JSON: %w", err))
	}
}

// document reads one document.
func (r *jsonReader) document() {
	r.found, r.other, r.isResult, r.known = false, false, false, noElement
	r.w.object()
	r.documentMembers()
}

// documentMembers reads the members of a document that are left.
func (r *jsonReader) documentMembers() {
	w := &r.w
	for w.more() && r.going() {
		if string(w.peekKey()) == "result" {
			w.key()
			r.found, r.isResult = true, true
			w.object()
			r.resultMembers()
			continue
		}
		r.documentMember()
	}
	if r.going() && r.other && !r.found {
		r.Emit(op.Record{Skipped: op.Skipped{Reason: op.SkipUnknownRecord, N: 1}}, nil)
	}
}

// resultMembers reads the members of a result that are left.
func (r *jsonReader) resultMembers() {
	for r.w.more() && r.going() {
		r.documentMember()
	}
}

func (r *jsonReader) documentMember() {
	w := &r.w
	switch string(w.key()) {
	case "resourceSpans", "resource_spans":
		r.found = true
		if w.null() {
			return
		}
		w.array()
		r.resources()
	case "resourceMetrics", "resource_metrics":
		r.otherSignal("metrics")
	case "resourceLogs", "resource_logs":
		r.otherSignal("logs")
	case "resourceProfiles", "resource_profiles":
		r.otherSignal("profiles")
	default:
		r.other = true
		w.skip()
	}
}

// otherSignal passes over the records of a signal that is not traces.
func (r *jsonReader) otherSignal(signal string) {
	r.found = true
	r.w.skip()
	if r.going() {
		r.Emit(spans.OfSignal(signal), nil)
	}
}

// resources reads the elements of a list of ResourceSpans that are left.
func (r *jsonReader) resources() {
	for r.w.more() && r.going() {
		r.resourceSpans()
	}
}

// resourceSpans reads the spans of one resource.
func (r *jsonReader) resourceSpans() {
	r.Resource, r.known = op.Resource{}, noElement
	r.w.object()
	r.resourceMembers(&group{r: r, header: isResource, parse: r.ReadResource})
}

// resourceMembers reads the members of a ResourceSpans object that are left.
func (r *jsonReader) resourceMembers(g *group) {
	w := &r.w
	for w.more() && r.going() {
		switch key := w.key(); {
		case isResource(key):
			g.readHeader()
			r.emitResource(g)
		case string(key) == "scopeSpans" || string(key) == "scope_spans":
			if w.null() {
				continue
			}
			g.lookAhead()
			r.emitResource(g)
			r.known = aResource
			w.array()
			r.scopes()
		default:
			w.skip()
		}
	}
}

// scopes reads the elements of a list of ScopeSpans that are left.
func (r *jsonReader) scopes() {
	for r.w.more() && r.going() {
		r.scopeSpans()
	}
}

// emitResource hands the resource out once it has been read.
func (r *jsonReader) emitResource(g *group) {
	if g.fresh && r.going() {
		g.fresh = false
		r.Emit(op.Record{Resource: &r.Resource}, nil)
	}
}

// scopeSpans reads the spans of one instrumentation scope.
func (r *jsonReader) scopeSpans() {
	r.Scope = op.Scope{}
	r.w.object()
	r.scopeMembers(&group{r: r, header: isScope, parse: r.ReadScope})
}

// scopeMembers reads the members of a ScopeSpans object that are left.
func (r *jsonReader) scopeMembers(g *group) {
	w := &r.w
	for w.more() && r.going() {
		switch key := w.key(); {
		case isScope(key):
			g.readHeader()
		case string(key) == "spans":
			if w.null() {
				continue
			}
			g.lookAhead()
			r.known = aScope
			w.array()
			r.spans()
			if !w.failed() {
				r.known = aResource
			}
		default:
			w.skip()
		}
	}
}

func isResource(key []byte) bool { return string(key) == "resource" }
func isScope(key []byte) bool    { return string(key) == "scope" }

// spans reads the elements of a list of spans that are left.
func (r *jsonReader) spans() {
	w := &r.w
	for w.more() && r.going() {
		if r.ReadSpans(w.buf) {
			continue
		}
		w.do(func(*jsontext.Lexer) { r.ReadSpan() })
		if !w.failed() {
			r.EmitSpan()
		}
	}
}

// group is an object with a header, the resource or the scope, and a list of the
// scopes or spans below it. Their order is free in JSON: if the list comes first, the
// header is looked for behind it.
type group struct {
	r      *jsonReader
	header func(key []byte) bool
	parse  func()
	// done is set once the header has been read, and fresh until it has been used; late
	// if it was looked for and lies too far behind the list.
	done, fresh, late bool
}

// readHeader reads the header, or passes over one that was read ahead.
func (g *group) readHeader() {
	w := &g.r.w
	switch {
	case g.done:
		w.skip()
	case g.late:
		err := w.limitErrorf("%s more than %d MiB behind its spans was not used", g.name(), MaxLookAheadBytes>>20)
		w.skip()
		if g.r.going() {
			g.r.Emit(op.Record{}, err)
		}
	default:
		g.r.read(g.parse)
		g.done, g.fresh = true, true
	}
}

func (g *group) name() string {
	if g.header([]byte("scope")) {
		return "scope"
	}
	return "resource"
}

// lookAhead reads the header if it follows the list that is next, and comes
// back to the list. An error behind the list is left for the second time.
func (g *group) lookAhead() {
	if g.done || g.late {
		return
	}
	w := &g.r.w
	if w.holding { // an outer group looks ahead: it comes back for this one
		return
	}
	w.hold()
	w.skip()
	for !w.failed() && w.more() {
		if g.header(w.key()) {
			g.r.read(g.parse)
			g.done, g.fresh = !w.failed(), !w.failed()
			break
		}
		w.skip()
	}
	g.late = w.tooLong
	w.release()
}
