// Package stdouttrace reads the output of OpenTelemetry's stdouttrace exporter: JSON objects in a row, on a line each
// or indented, perhaps with other output of the program in between, or lists of them. It also reads the output of
// Python's ConsoleSpanExporter, whose times are microseconds.
package stdouttrace

import (
	"bytes"
	"io"
	"iter"

	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/text/jsonstream"
	"github.com/optrace/optrace/internal/text/lexer"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

const attributeDepth = 3 // the number of brackets around an attribute of a span

// Records reads spans in constant memory. name names src in errors, and m maps attribute keys to fields, nil by the
// conventions. A resource precedes its spans.
//
// A *[op.SyntaxError] is a bad span; any other error is the last value. A record's pointers are valid until the next
// one.
func Records(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		s := jsonstream.NewReader(src, name)
		d := &decoder{build: attrmap.NewBuilder(m)}
		for text, err := range documents(s) {
			if err != nil {
				if !yield(op.Record{}, err) {
					return
				}
				continue
			}
			if len(bytes.TrimSpace(text)) == len("{}") && text[0] == '{' { // an object without members
				continue
			}
			offset, msg := d.span(text)
			if msg != "" {
				if mended, found := lexer.Mend(text, attributeDepth); found {
					if _, still := d.span(mended); still == "" {
						msg = ""
					}
				}
			}
			if msg != "" {
				if !yield(op.Record{}, s.SyntaxError(offset, msg)) {
					return
				}
				continue
			}
			if d.newResource && !yield(op.Record{Resource: &d.resource}, nil) {
				return
			}
			if !yield(d.record(), nil) {
				return
			}
		}
		if err := s.Err(); err != nil {
			yield(op.Record{}, err)
		}
	}
}

// documents yields the documents, or the elements of lists if the input starts with a list of objects. Other output may
// start with a bracket, too.
func documents(s *jsonstream.Reader) iter.Seq2[[]byte, error] {
	if !s.OpensObjects() {
		return s.Documents()
	}
	return func(yield func([]byte, error) bool) {
		for s.Next() {
			for text, err := range s.Elements() {
				if !yield(text, err) {
					return
				}
			}
		}
	}
}
