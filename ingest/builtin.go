package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/op"
)

// openEntries reads entries JSON Lines. The entries state their fields, so the
// mapping has no say.
func openEntries(*op.Mapping) readFunc {
	r := op.NewReader(nil, "")
	return func(src io.Reader, at place) iter.Seq2[op.Record, error] {
		r.Reset(src, at.name, at.Position)
		return r.Records()
	}
}

func openOTLPJSON(m *op.Mapping) readFunc {
	r := otlp.NewJSONReader(m)
	return func(src io.Reader, at place) iter.Seq2[op.Record, error] {
		return r.Records(src, at.name, at.Position, at.lines)
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

// traceRecords reads a seed trace. Its metadata come first, as the attributes
// of a resource.
func traceRecords(src io.Reader, name string, _ *op.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		limited := &io.LimitedReader{R: src, N: MaxTraceBytes + 1}
		t, err := op.ReadTrace(limited, name)
		if limited.N == 0 {
			err = errors.New("trace of more than 1 GiB; use entries JSON Lines")
		}
		if syntax, ok := errors.AsType[*op.SyntaxError](err); ok {
			// No longer a SyntaxError: there is no next record to go on with.
			err = fmt.Errorf("%s (at byte %d)", syntax.Msg, syntax.Offset)
		}
		if err != nil {
			yield(op.Record{}, err)
			return
		}
		if len(t.Metadata) > 0 && !yield(op.Record{Resource: metadataResource(t.Metadata)}, nil) {
			return
		}
		for i := range t.Entries {
			if !yield(op.Record{Entry: &t.Entries[i]}, nil) {
				return
			}
		}
	}
}

func metadataResource(metadata map[string]string) *op.Resource {
	r := &op.Resource{}
	for k, v := range metadata {
		r.Attrs = append(r.Attrs, op.Attr{Key: k, Value: v})
	}
	slices.SortFunc(r.Attrs, func(a, b op.Attr) int { return cmp.Compare(a.Key, b.Key) })
	return r
}
