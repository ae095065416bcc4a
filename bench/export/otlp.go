package export

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace"
)

// marshallingClient does what OTLP clients do with spans short of sending them.
type marshallingClient struct {
	// last is what the last batch became.
	last []byte
	// spans counts them.
	spans int64
}

func (c *marshallingClient) Start(context.Context) error { return nil }
func (c *marshallingClient) Stop(context.Context) error  { return nil }

func (c *marshallingClient) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	for _, rs := range spans {
		for _, ss := range rs.GetScopeSpans() {
			c.spans += int64(len(ss.GetSpans()))
		}
	}
	encoded, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	c.last = encoded
	return err
}

// newOTLP returns the SDK's OTLP exporter in front of such a client.
func newOTLP(ctx context.Context) (*otlptrace.Exporter, *marshallingClient, error) {
	c := new(marshallingClient)
	exp, err := otlptrace.New(ctx, c)
	return exp, c, err
}

// sameBytes returns an error unless our OTLP protobuf of each batch is, behind
// the four bytes of its length, what the SDK's exporter sends.
func sameBytes(ctx context.Context, batches [][]sdktrace.ReadOnlySpan) error {
	theirs, client, err := newOTLP(ctx)
	if err != nil {
		return err
	}
	var written bytes.Buffer
	ours, err := optrace.NewExporter(&written, optrace.WithFormat(optrace.FormatOTLPProto))
	if err != nil {
		return err
	}
	for i, b := range batches {
		written.Reset()
		if err := ours.ExportSpans(ctx, b); err != nil {
			return err
		}
		if err := theirs.ExportSpans(ctx, b); err != nil {
			return err
		}
		want := binary.BigEndian.AppendUint32(nil, uint32(len(client.last)))
		if want = append(want, client.last...); !bytes.Equal(written.Bytes(), want) {
			return fmt.Errorf("batch %d: our OTLP protobuf differs from otlptrace's: %d bytes and %d", i, written.Len(), len(want))
		}
	}
	return nil
}
