package workload

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace"
)

// writeEntries writes through a Processor and an Exporter per process.
func writeEntries(w io.Writer, c Config) (Summary, error) {
	return record(c, func() (sdktrace.SpanProcessor, error) {
		exp, err := optrace.NewExporter(w)
		if err != nil {
			return nil, err
		}
		return optrace.NewProcessor(exp, optrace.WithPolicy(optrace.PolicyBlock))
	})
}

// writeOTLP writes as the SDK's OTLP exporter and a Collector behind it do.
func writeOTLP(w io.Writer, f Format, c Config) (Summary, error) {
	out := newCollector(w, f)
	sum, err := record(c, func() (sdktrace.SpanProcessor, error) {
		return &batcher{exporter: otlptrace.NewUnstarted(out)}, nil
	})
	return sum, errors.Join(err, out.close())
}

// batcher is a processor that exports its spans when it is flushed.
type batcher struct {
	exporter sdktrace.SpanExporter
	spans    []sdktrace.ReadOnlySpan
}

func (b *batcher) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (b *batcher) OnEnd(s sdktrace.ReadOnlySpan)                   { b.spans = append(b.spans, s) }

func (b *batcher) ForceFlush(ctx context.Context) error {
	spans := b.spans
	b.spans = nil
	return b.exporter.ExportSpans(ctx, spans)
}

func (b *batcher) Shutdown(ctx context.Context) error {
	return errors.Join(b.ForceFlush(ctx), b.exporter.Shutdown(ctx))
}

// collector is an OTLP client that writes as the Collector's file exporter does.
type collector struct {
	w      *bufio.Writer
	format Format
}

func newCollector(w io.Writer, f Format) *collector {
	return &collector{w: bufio.NewWriterSize(w, 1<<20), format: f}
}

func (c *collector) Start(context.Context) error { return nil }
func (c *collector) Stop(context.Context) error  { return nil }

func (c *collector) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	sent, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	var received ptrace.ProtoUnmarshaler
	td, err := received.UnmarshalTraces(sent)
	if err != nil {
		return err
	}
	return c.write(td)
}

func (c *collector) write(td ptrace.Traces) error {
	if c.format == OTLPProto || c.format == OTLPMessage {
		var m ptrace.ProtoMarshaler
		frame, err := m.MarshalTraces(td)
		if err != nil {
			return err
		}
		if c.format == OTLPMessage { // messages behind one another are one
			_, err = c.w.Write(frame)
			return err
		}
		var head [4]byte
		binary.BigEndian.PutUint32(head[:], uint32(len(frame)))
		_, err = c.w.Write(append(head[:], frame...))
		return err
	}
	var m ptrace.JSONMarshaler
	line, err := m.MarshalTraces(td)
	if err != nil {
		return err
	}
	_, err = c.w.Write(append(line, '\n'))
	return err
}

func (c *collector) close() error {
	return c.w.Flush()
}

func create(path string, write func(*os.File) error) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := write(file); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
