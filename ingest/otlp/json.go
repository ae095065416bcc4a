// Package otlp reads spans from OTLP: JSON (one object, JSON Lines or pretty-printed), one TracesData message in
// protobuf, and the length-prefixed frames of the Collector's file exporter, also compressed ones.
//
// Every encoding gives the same records: a Resource in front of the spans of each resource, an Entry for an operation,
// a Span for any other span, and a count of the messages of other signals. Package spans below this one makes the
// records; this package finds the messages.
//
// Memory is bounded by the largest span, for protobuf by the largest batch, and by the limits of this package. Package
// ingest handles files, formats and compression of whole files.
package otlp

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/optrace/optrace/ingest/otlp/internal/spans"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// JSONRecords reads OTLP JSON: one document or several, each on a line or spread over lines. It also reads answers of
// Jaeger's API v3 and of Tempo, which wrap the document in a "result" or "trace", and documents of one resource, as
// Java's logging exporter writes them. name names src in errors; m maps attribute keys to fields, nil by the
// conventions.
func JSONRecords(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error] {
	return NewJSONReader(m).Records(src, name, op.Position{}, false)
}

// JSONReader reads several files or parts of files, one after the other. It keeps its buffers, strings and attribute
// keys. It is not safe for concurrent use.
type JSONReader struct{ r *jsonReader }

// NewJSONReader returns a reader; m maps attribute keys to fields, nil by the conventions.
func NewJSONReader(m *attr.Mapping) *JSONReader {
	return &JSONReader{r: newJSONReader(spans.New(m))}
}

// Records reads src, which starts at a position of the file called name. With lines, documents are lines; otherwise the
// reader finds out. In either case a document may be spread over lines if the first is only a brace.
func (jr *JSONReader) Records(src io.Reader, name string, at op.Position, lines bool) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		r := jr.r
		r.start(yield)
		r.lines = lines
		r.w.reset(src, name, at)
		r.documents()
	}
}

type jsonReader struct {
	*spans.JSON
	w window
	// lines is set once two documents were lines, linewise if the current document is a line: a truncated one ends with
	// its line.
	lines, linewise bool
	// found is set if the document has a member of OTLP, other if it has another one.
	found, other bool
	bad          *op.SyntaxError // the error of a list of spans that cannot be resumed
	faults       int             // errors so far
}

func newJSONReader(d *spans.Decoder) *jsonReader {
	r := new(jsonReader)
	r.JSON = spans.NewJSON(d, &r.w.lex)
	r.w.reset(nil, "", op.Position{})
	return r
}

func (r *jsonReader) start(yield spans.YieldFunc) {
	r.Yield = yield
	r.Stopped = false
	r.faults = 0
	r.lines = false
	r.bad = nil
}

func (r *jsonReader) going() bool { return !r.Stopped && r.bad == nil && !r.w.failed() }

func (r *jsonReader) fault(err *op.SyntaxError) {
	r.faults++
	r.Emit(op.Record{}, err)
}

func (r *jsonReader) documents() {
	w := &r.w
	for !r.Stopped {
		w.lex.OneLine(false)
		if err := w.passZeros(); err != nil {
			r.fault(err)
			continue
		}
		if w.peek() == 0 && !w.failed() && w.lex.AtEnd() {
			break
		}
		r.lines = r.lines || w.startsLines()
		r.linewise = r.lines && !w.startsSpread()
		w.lex.OneLine(r.linewise)
		r.document()
		if r.bad == nil && !w.failed() {
			continue
		}
		if r.Stopped || w.sourceError() != nil {
			break
		}
		bad := cmp.Or(r.bad, w.syntaxError())
		r.fault(bad)
		start := documentStart
		from := bad.Offset - 1 // the brace may be damaged
		if r.linewise {
			start = lineStart
			from = bad.Offset
		}
		at, ok := w.seek(from, start)
		if !ok {
			break
		}
		w.lex.Reset(w.Text)
		w.lex.Rewind(lexer.Mark{}.At(at + 1))
	}
	if err := w.sourceError(); err != nil && !r.Stopped {
		r.Emit(op.Record{}, fmt.Errorf("reading OTLP JSON: %w", err))
	}
}

func (r *jsonReader) document() {
	r.found, r.other, r.bad = false, false, nil
	if r.found = r.isGroup(); r.found {
		r.resourceSpans()
	} else {
		r.members()
	}
	if r.going() && r.other && !r.found {
		r.Emit(op.Record{Skipped: op.Skipped{Reason: op.SkipUnknownRecord, N: 1}}, nil)
	}
}

// isGroup reports whether the next document is the spans of one resource, as Java's logging exporter writes them.
func (r *jsonReader) isGroup() bool {
	w := &r.w
	w.hold()
	defer w.release()
	w.object()
	return w.more() && slices.Contains(groupNames, string(w.key()))
}

// members reads a document, or the result in an answer.
func (r *jsonReader) members() {
	w := &r.w
	w.object()
	for r.going() && w.more() {
		switch string(w.key()) {
		case "result", "trace": // of Jaeger's API v3, of Tempo's v2
			if w.lex.Depth() > 1 || w.peek() != '{' {
				w.skip()
				continue
			}
			r.found = true
			r.members()
		case "resourceSpans", "resource_spans", "batches": // the last one in answers of Tempo
			r.found = true
			r.list(r.resourceSpans)
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
}

func (r *jsonReader) otherSignal(signal string) {
	r.found = true
	r.w.skip()
	if r.going() {
		r.Emit(spans.OfSignal(signal), nil)
	}
}

func (r *jsonReader) list(element func()) {
	if r.w.null() {
		return
	}
	r.w.array()
	for r.going() && r.w.more() {
		element()
	}
}

func (r *jsonReader) resourceSpans() {
	r.Resource = op.Resource{}
	r.group(resourceNames, scopeSpansNames, func() { r.list(r.scopeSpans) }, func() {
		r.w.do(func(*lexer.Lexer) { r.ReadResource() })
		if r.going() {
			r.Emit(op.Record{Resource: &r.Resource}, nil)
		}
	})
}

func (r *jsonReader) scopeSpans() {
	r.Scope = op.Scope{}
	r.group(scopeNames, spansNames, r.spans, func() {
		r.w.do(func(*lexer.Lexer) { r.ReadScope() })
	})
}

// The spellings of members: camel case, the names of the messages' fields, and the names before OTLP 0.16.
var (
	resourceNames   = []string{"resource"}
	scopeSpansNames = []string{"scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans"}
	scopeNames      = []string{"scope", "instrumentationLibrary", "instrumentation_library"}
	spansNames      = []string{"spans"}
	groupNames      = slices.Concat(resourceNames, scopeSpansNames, []string{"schemaUrl"})
)

// group reads an object with a header and a list.
// Their order is free in JSON: if the list comes first, the header is looked for behind it.
func (r *jsonReader) group(headers, lists []string, readList, readHeader func()) {
	w := &r.w
	done := false
	late := false // the header has been read, or lies too far behind the list
	w.object()
	for r.going() && w.more() {
		switch key := string(w.key()); {
		case slices.Contains(headers, key) && late:
			msg := fmt.Sprintf("%s more than %d MiB behind its spans was not used", headers[0], MaxElementBytes>>20)
			err := w.errorAt(msg, op.ErrorLimit)
			w.skip()
			if r.going() {
				r.fault(err)
			}
		case slices.Contains(headers, key) && !done:
			readHeader()
			done = true
		case slices.Contains(lists, key):
			if !done && !late {
				done, late = r.lookAhead(headers, readHeader)
			}
			readList()
		case key == "scopeMetrics" || key == "scopeLogs":
			r.otherSignal(strings.ToLower(key[len("scope"):]))
		default:
			w.skip()
		}
	}
}

// lookAhead reads the header if it follows the list that is next, and comes
// back to the list. An error behind the list is left for the second time.
func (r *jsonReader) lookAhead(headers []string, readHeader func()) (done, late bool) {
	w := &r.w
	w.hold()
	defer w.release()
	for w.skip(); w.more(); w.skip() {
		if slices.Contains(headers, string(w.key())) {
			readHeader()
			return !w.failed(), w.tooLong
		}
	}
	return false, w.tooLong
}

// spans reads a list of spans. Behind damage it resumes at the next text that must be the beginning of a span; all
// lists of spans have the same depth.
func (r *jsonReader) spans() {
	w := &r.w
	if w.null() {
		return
	}
	w.array()
	for r.going() {
		w.hold()
		behind := 0 // the size of the damage
		if w.more() {
			if r.ReadSpans(w.Text) {
				continue
			}
			w.peek()
			w.hold()
			behind = 1
			w.do(func(*lexer.Lexer) { r.ReadSpan() })
		}
		if !w.failed() {
			w.holding = false
			if behind == 0 {
				return
			}
			r.EmitSpan()
			continue
		}
		bad := w.syntaxError()
		if w.sourceError() != nil || !r.nextSpan(w.Offset+int64(w.held.Pos()+behind)) {
			r.bad = bad
		} else {
			r.fault(bad)
		}
	}
}

// nextSpan goes to the next span of the document. It forgets resource and scope if others begin in between.
func (r *jsonReader) nextSpan(from int64) bool {
	w := &r.w
	start := documentOrSpan
	if r.linewise {
		start = lineOrSpan
	}
	for {
		at, ok := w.seek(from, start)
		if !ok {
			return false
		}
		switch w.Text[at] {
		case '\n':
			return false
		case '{':
			w.lex.Replace(w.Text, 0)
			w.lex.Rewind(w.held.At(at))
			return true
		}
		r.Scope = op.Scope{}
		if bytes.HasPrefix(w.Text[at:], []byte(`"resource"`)) {
			r.Resource = op.Resource{}
			r.Emit(op.Record{Resource: &r.Resource}, nil)
		}
		from = w.Offset + int64(at) + 1
	}
}
