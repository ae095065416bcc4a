package workload

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace"
)

// writeSpans writes entries through a Processor and an Exporter per process, and OTLP as the SDK's exporter and a
// Collector behind it do.
func writeSpans(w io.Writer, f Format, c Config) error {
	if f == Entries {
		return record(c, func() (sdktrace.SpanProcessor, error) {
			exp, err := optrace.NewExporter(w)
			if err != nil {
				return nil, err
			}
			return optrace.NewProcessor(exp, optrace.WithPolicy(optrace.PolicyBlock))
		})
	}
	out := newCollector(w, f)
	err := record(c, func() (sdktrace.SpanProcessor, error) {
		return sdktrace.NewBatchSpanProcessor(otlptrace.NewUnstarted(out), sdktrace.WithBlocking(),
			sdktrace.WithMaxExportBatchSize(BatchSize), sdktrace.WithBatchTimeout(time.Hour)), nil
	})
	return errors.Join(err, out.err, out.w.Flush())
}

// collector is an OTLP client that writes as the Collector's file exporter does.
type collector struct {
	w      *bufio.Writer
	format Format
	err    error // the first one
}

func newCollector(w io.Writer, f Format) *collector {
	return &collector{w: bufio.NewWriterSize(w, 1<<20), format: f}
}

func (c *collector) Start(context.Context) error { return nil }
func (c *collector) Stop(context.Context) error  { return nil }

func (c *collector) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	sent, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err == nil {
		var td ptrace.Traces
		if td, err = new(ptrace.ProtoUnmarshaler).UnmarshalTraces(sent); err == nil {
			err = c.write(td)
		}
	}
	c.err = errors.Join(c.err, err)
	return err
}

func (c *collector) write(td ptrace.Traces) error {
	var text []byte
	var err error
	if c.format == OTLPJSON {
		text, err = new(ptrace.JSONMarshaler).MarshalTraces(td)
		text = append(text, '\n')
	} else {
		text, err = new(ptrace.ProtoMarshaler).MarshalTraces(td)
	}
	if c.format == OTLPProto { // messages without their lengths are one
		_ = binary.Write(c.w, binary.BigEndian, uint32(len(text))) // its error is that of what follows
	}
	_, failed := c.w.Write(text)
	return errors.Join(err, failed)
}

// Create makes a file, which is replaced, of what a function writes.
func Create(path string, write func(*os.File) error) (err error) {
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
