package otlp

import (
	"cmp"
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
	// lines is set once two documents were lines.
	lines bool
	// found is set if the document has a member of OTLP, other if it has any other.
	found, other bool
	// bad is what is wrong with a span that cannot be passed over.
	bad    *op.SyntaxError
	faults int // errors so far
}

func newJSONReader(d *spans.Decoder) *jsonReader {
	r := new(jsonReader)
	r.JSON = spans.NewJSON(d, &r.w.lex)
	r.w.reset(nil, "", op.Position{})
	return r
}

// start makes r yield the records of another input.
func (r *jsonReader) start(yield spans.YieldFunc) {
	r.Yield, r.Stopped, r.faults, r.lines = yield, false, 0, false
}

// going reports whether the walk goes on.
func (r *jsonReader) going() bool { return !r.Stopped && !r.w.failed() }

// fault hands out what is wrong with a part of the input.
func (r *jsonReader) fault(err *op.SyntaxError) {
	r.faults++
	r.Emit(op.Record{}, err)
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
		// A document that is cut off ends with its line, if it is taken for a line.
		linewise := r.lines && !w.startsSpread()
		w.lex.OneLine(linewise)
		r.document()
		if !w.failed() {
			continue
		}
		if r.Stopped || w.sourceError() != nil {
			break
		}
		bad := cmp.Or(r.bad, w.syntaxError())
		r.fault(bad)
		if !w.nextDocument(bad, linewise) {
			break
		}
	}
	if err := w.sourceError(); err != nil && !r.Stopped {
		r.Emit(op.Record{}, fmt.Errorf("reading OTLP JSON: %w", err))
	}
}

// document reads one document.
func (r *jsonReader) document() {
	r.found, r.other, r.bad = false, false, nil
	r.members()
	if r.going() && r.other && !r.found {
		r.Emit(op.Record{Skipped: op.Skipped{Reason: op.SkipUnknownRecord, N: 1}}, nil)
	}
}

// members reads a document, or the result in an answer.
func (r *jsonReader) members() {
	w := &r.w
	w.object()
	for w.more() && r.going() {
		switch string(w.key()) {
		case "result":
			if w.lex.Depth() > 1 {
				w.skip()
				continue
			}
			r.found = true
			r.members()
		case "resourceSpans", "resource_spans":
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

// otherSignal passes over the records of a signal that is not traces.
func (r *jsonReader) otherSignal(signal string) {
	r.found = true
	r.w.skip()
	if r.going() {
		r.Emit(spans.OfSignal(signal), nil)
	}
}

// list reads the elements of a list, which may be null.
func (r *jsonReader) list(element func()) {
	if r.w.null() {
		return
	}
	r.w.array()
	for r.w.more() && r.going() {
		element()
	}
}

// resourceSpans reads the spans of one resource.
func (r *jsonReader) resourceSpans() {
	r.Resource = op.Resource{}
	r.group("resource", "scopeSpans", "scope_spans", r.scopeSpans, func() {
		r.w.do(func(*jsontext.Lexer) { r.ReadResource() })
		if r.going() {
			r.Emit(op.Record{Resource: &r.Resource}, nil)
		}
	})
}

// scopeSpans reads the spans of one instrumentation scope.
func (r *jsonReader) scopeSpans() {
	r.Scope = op.Scope{}
	r.group("scope", "spans", "spans", r.span, func() {
		r.w.do(func(*jsontext.Lexer) { r.ReadScope() })
	})
}

// group reads an object with a header and a list of elements, which has two spellings.
// Their order is free in JSON: if the list comes first, the header is looked for behind it.
func (r *jsonReader) group(header, list, spelling string, element, readHeader func()) {
	w := &r.w
	done, late := false, false // the header has been read, or lies too far behind the list
	w.object()
	for w.more() && r.going() {
		switch key := string(w.key()); {
		case key == header && late:
			msg := fmt.Sprintf("%s more than %d MiB behind its spans was not used", header, MaxElementBytes>>20)
			err := w.errorAt(msg, op.ErrorLimit)
			w.skip()
			if r.going() {
				r.fault(err)
			}
		case key == header && !done:
			readHeader()
			done = true
		case key == list || key == spelling:
			if !done && !late {
				done, late = r.lookAhead(header, readHeader)
			}
			r.list(element)
		default:
			w.skip()
		}
	}
}

// lookAhead reads the header if it follows the list that is next, and comes
// back to the list. An error behind the list is left for the second time.
func (r *jsonReader) lookAhead(header string, readHeader func()) (done, late bool) {
	w := &r.w
	w.hold()
	defer w.release()
	for w.skip(); w.more(); w.skip() {
		if string(w.key()) == header {
			readHeader()
			return !w.failed(), w.tooLong
		}
	}
	return false, w.tooLong
}

// span reads the spans that stand next. One that cannot be read is passed over as far as
// its brackets tell where it ends.
func (r *jsonReader) span() {
	w := &r.w
	if r.ReadSpans(w.buf) {
		return
	}
	w.hold()
	w.do(func(*jsontext.Lexer) { r.ReadSpan() })
	if !w.failed() {
		w.holding = false
		r.EmitSpan()
		return
	}
	bad := w.syntaxError()
	w.release()
	if w.do((*jsontext.Lexer).Pass); w.failed() {
		r.bad = bad
		return
	}
	r.fault(bad)
}
