package ingest

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/ingest/seed"
	"github.com/optrace/optrace/internal/text/lineio"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/op/entries"
)

// openEntries reads entries JSON Lines. Entries state their fields: the mapping only selects attributes of resources,
// see inheriting.
func openEntries(readerOptions) readFunc {
	r := entries.NewReader(nil, "")
	return func(src io.Reader, at place) iter.Seq2[op.Record, error] {
		r.Reset(src, at.name, at.Position)
		if at.sources != nil {
			r.SetSources(at.sources)
		}
		return r.Records()
	}
}

func openOTLPJSON(o readerOptions) readFunc {
	r := otlp.NewJSONReader(o.mapping)
	return func(src io.Reader, at place) iter.Seq2[op.Record, error] {
		return r.Records(src, at.name, at.Position, at.lines)
	}
}

func framed(f otlp.Framing, name, short, summary string) Format {
	isRaw := f == otlp.FramingRaw
	return Format{
		Name: name, Short: short, Summary: summary, framing: f, grows: !isRaw,
		// JSON may start like a message: "\n{\n".
		detect: func(h *head) bool { return (h.opening == 0 || !isRaw) && otlp.Sniff(h.text) == f },
		open: func(o readerOptions) readFunc {
			r := otlp.NewFrameReader(o.mapping, f)
			return func(src io.Reader, at place) iter.Seq2[op.Record, error] {
				return r.Records(src, at.name, at.Position)
			}
		},
		cut: func(text, _ []byte, _ bool) (end int, lines bool) { return otlp.CutFrames(text, f), false },
	}
}

// seedRecords reads a seed trace. It skips a bad entry, and reads a truncated trace up to its end.
func seedRecords(src io.Reader, name string, _ *attr.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		found := false
		for rec, err := range seed.Records(src, name) {
			syntax, ok := errors.AsType[*op.SyntaxError](err)
			if ok && syntax.Class == op.ErrorSyntax && !syntax.Truncated && !found {
				err = fmt.Errorf("%s (at byte %d)", syntax.Msg, syntax.Offset) // no entry was read
			}
			found = found || rec.Entry != nil
			if !yield(rec, err) {
				return
			}
		}
	}
}

// errPartial is the error of partial results that the caller does not want.
var errPartial = &refusedError{"partial results of optrace convert -to profile: only optrace report reads them, without -html"}

func partialRecords(src io.Reader, name string, _ *attr.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		text, err := lineio.ReadUpTo(src, math.MaxInt)
		if err != nil {
			yield(op.Record{}, fmt.Errorf("reading partial results: %w", err))
			return
		}
		yield(op.Record{Partial: &op.Partial{File: name, Text: text}}, nil)
	}
}
