package receiver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/serve/livepage"
	"github.com/optrace/optrace/internal/serve/loopback"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Receiver puts the spans of OTLP requests into a window. It is safe for concurrent use.
type Receiver struct {
	hosts      loopback.Hosts
	http, grpc *door
	// The encodings of requests.
	protobuf, json encoding
}

type encoding struct {
	input   func() *livepage.Input // is made for the first request
	records func(io.Reader, string, *attr.Mapping) iter.Seq2[op.Record, error]
}

// New returns a Receiver for requests to hosts; bytes bounds the memory of all requests together.
func New(window *livepage.Window, hosts loopback.Hosts, bytes int64) *Receiver {
	all := &memory{limit: bytes}
	input := func(format string) func() *livepage.Input {
		return sync.OnceValue(func() *livepage.Input { return window.Input(format) })
	}
	return &Receiver{
		hosts: hosts, http: newDoor(all), grpc: newDoor(all),
		protobuf: encoding{input("otlp-proto"), otlp.ProtoRecords},
		json:     encoding{input("otlp-json"), otlp.JSONRecords},
	}
}

// take reads a request, until ctx is done, and returns the answer.
func (r *Receiver) take(ctx context.Context, e encoding, own *share,
	body []byte) (*collector.ExportTraceServiceResponse, error) {
	in := e.input()
	in.AddBytes(int64(len(body)))
	w := in.Writer()
	defer w.Flush()
	spans := 0
	rejected := int64(0)
	cut := false
	var first error
	signal := ""
	for rec, err := range e.records(bytes.NewBuffer(body), "request", attrmap.Holding(livepage.Mapping, own.hold)) {
		switch {
		case own.refused != nil:
			return nil, own.refused
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
		if err == nil {
			if rec.Entry != nil || rec.Span != nil {
				spans++
			}
			signal = cmp.Or(rec.Skipped.Signal, signal)
			w.Add(rec, nil)
			continue
		}
		syntax, ok := errors.AsType[*op.SyntaxError](err)
		if !ok {
			syntax = &op.SyntaxError{File: "request", Offset: -1, Msg: err.Error(), Class: op.ErrorOther}
		}
		w.Add(op.Record{}, syntax)
		rejected++
		cut = cut || !ok || syntax.Truncated
		if first == nil {
			first = syntax
		}
	}
	if own.refused != nil {
		return nil, own.refused
	}
	answer := &collector.ExportTraceServiceResponse{}
	switch {
	case signal != "" && spans == 0:
		return nil, fmt.Errorf("the request holds OTLP %s, not spans", signal)
	case rejected > 0 && (spans == 0 || cut):
		return nil, fmt.Errorf("the request is not OTLP: %w", first)
	case rejected > 0:
		answer.PartialSuccess = &collector.ExportTracePartialSuccess{
			RejectedSpans: rejected, ErrorMessage: fmt.Sprintf("unreadable spans, the first: %v", first),
		}
	}
	return answer, nil
}
