package otlp_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"strings"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/testing/otlptest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

type reader func(src io.Reader, name string, m *attr.Mapping) iter.Seq2[op.Record, error]

// result has a reader's records and errors as text.
type result struct {
	Records []string
	Bad     []string
	Err     string
}

func read(r reader, text []byte) result { return readWith(r, text, nil) }

func readWith(r reader, text []byte, m *attr.Mapping) result {
	return resultOf(r(bytes.NewReader(text), "input", m))
}

func readFrom(r reader, src io.Reader) result { return resultOf(r(src, "input", nil)) }

func resultOf(records iter.Seq2[op.Record, error]) (res result) {
	for rec, err := range records {
		var syntax *op.SyntaxError
		switch {
		case errors.As(err, &syntax):
			note := syntax.Error()
			if syntax.Truncated {
				note += " truncated"
			}
			res.Bad = append(res.Bad, note)
		case err != nil:
			res.Err = err.Error()
		default:
			res.Records = append(res.Records, describe(rec))
		}
	}
	return res
}

// describe returns a record as JSON. It checks every entry.
func describe(rec op.Record) string {
	switch {
	case rec.Entry != nil:
		if err := rec.Entry.Validate(); err != nil {
			return "invalid: " + err.Error()
		}
		return string(rec.Entry.AppendJSON(nil))
	case rec.Span != nil:
		return string(rec.Span.AppendJSON(nil))
	case rec.Resource != nil:
		return string(op.AppendHeader(nil, rec.Resource))
	}
	return fmt.Sprintf("%+v", rec.Skipped)
}

// names returns the operations of a result.
func (r result) names() (names []string) {
	for _, rec := range r.Records {
		if _, rest, ok := strings.Cut(rec, `"operation":"`); ok {
			name, _, _ := strings.Cut(rest, `"`)
			names = append(names, name)
		}
	}
	return names
}

// readers are the readers by framing.
var readers = map[string]reader{
	"json": otlp.JSONRecords, "frames": otlp.FramedRecords, "raw": otlp.ProtoRecords,
}

func randomTraces(rng *rand.Rand) *tracepb.TracesData {
	return otlptest.RandomTraces(rng, rng.IntN(3), 4)
}
