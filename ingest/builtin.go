package ingest

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/ingest/seed"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/op/entries"
)

// openEntries reads entries JSON Lines. The entries state their fields, so the
// mapping has a say in the attributes of resources only, see inheriting.
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

// framed returns the format of OTLP in a framing.
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

// seedRecords reads a seed trace. An entry that cannot be read does not end it, and
// one that is cut off is read up to there.
func seedRecords(src io.Reader, name string, _ *attr.Mapping) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		found := false
		for rec, err := range seed.Records(src, name) {
			syntax, ok := errors.AsType[*op.SyntaxError](err)
			if ok && syntax.Class == op.ErrorSyntax && !syntax.Truncated && !found {
				err = fmt.Errorf("%s (at byte %d)", syntax.Msg, syntax.Offset) // nothing is read
			}
			found = found || rec.Entry != nil
			if !yield(rec, err) {
				return
			}
		}
	}
}
