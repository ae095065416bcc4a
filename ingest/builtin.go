package ingest

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/ingest/stdouttrace"
	"github.com/optrace/optrace/op"
)

// openEntries reads entries JSON Lines. The entries state their fields, so the
// mapping has a say in the attributes of resources, see inheriting, and in what may be
// left out.
func openEntries(m *op.Mapping) readFunc {
	r := op.NewReader(nil, "")
	r.Omit(m.Omitted())
	return func(src io.Reader, at place) iter.Seq2[op.Record, error] {
		r.Reset(src, at.name, at.Position)
		if at.sources != nil {
			r.SetSources(at.sources)
		}
		return r.Records()
	}
}

func openOTLPJSON(m *op.Mapping) readFunc {
	r := otlp.NewJSONReader(m)
	return func(src io.Reader, at place) iter.Seq2[op.Record, error] {
		return r.Records(src, at.name, at.Position, at.lines)
	}
}

func openProto(m *op.Mapping) readFunc {
	r := otlp.NewProtoReader(m)
	return func(src io.Reader, at place) iter.Seq2[op.Record, error] {
		at.proto.Cut = at.more
		return r.Records(src, at.name, at.Position, at.proto)
	}
}

func openStdouttrace(m *op.Mapping) readFunc {
	r := stdouttrace.NewReader(m)
	return func(src io.Reader, at place) iter.Seq2[op.Record, error] {
		return r.Records(src, at.name, stdouttrace.Part{Offset: at.Offset, Resource: at.resource, More: at.more})
	}
}

func openFrames(m *op.Mapping) readFunc {
	r := otlp.NewFrameReader(m)
	return func(src io.Reader, at place) iter.Seq2[op.Record, error] {
		return r.Records(src, at.name, at.Position)
	}
}

// MaxTraceBytes is the largest seed trace that is read: it is one JSON
// document without an order that would allow to stream it.
const MaxTraceBytes = 1 << 30

// traceRecords reads a seed trace. An entry that cannot be read does not end it, and
// one that is cut off is read up to there.
func traceRecords(src io.Reader, name string, _ *op.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		text, err := io.ReadAll(&io.LimitedReader{R: src, N: MaxTraceBytes + 1})
		if err == nil && len(text) > MaxTraceBytes {
			err = errors.New("trace of more than 1 GiB; use entries JSON Lines")
		}
		if err != nil {
			yield(op.Record{}, fmt.Errorf("reading trace: %w", err))
			return
		}
		var first *op.SyntaxError // damage in front of all entries, fatal if there are none
		found := false
		for rec, err := range op.TraceRecords(text, name) {
			syntax, ok := errors.AsType[*op.SyntaxError](err)
			if ok && syntax.Class == op.ErrorSyntax && !syntax.Truncated && !found && first == nil {
				first = syntax
				continue
			}
			if rec.Entry != nil && !found {
				if found = true; first != nil && !yield(op.Record{}, first) {
					return
				}
			}
			if !yield(rec, err) {
				return
			}
		}
		if first != nil && !found {
			yield(op.Record{}, fmt.Errorf("%s (at byte %d)", first.Msg, first.Offset))
		}
	}
}
