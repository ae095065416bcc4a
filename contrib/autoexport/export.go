package autoexport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
)

// The values of OTEL_TRACES_EXPORTER.
const (
	// Name writes operations to a file.
	Name = "optrace"
	// NameWithOTLP sends all spans by OTLP besides.
	NameWithOTLP = "optrace+otlp"
)

func init() {
	autoexport.RegisterSpanExporter(Name, newFileExporter)
	autoexport.RegisterSpanExporter(NameWithOTLP, newTee)
}

// defaultFile is the file where nothing else is said, as for [optrace.Setup].
const defaultFile = "ops.jsonl"

// newFileExporter returns the exporter of operations that the environment describes.
func newFileExporter(context.Context) (sdktrace.SpanExporter, error) {
	if disabled() {
		return tee{}, nil
	}
	exp, err := optrace.NewFileExporter(cmp.Or(os.Getenv("OPTRACE_FILE"), defaultFile))
	if err != nil {
		return nil, err // not a nil pointer in an interface
	}
	return exp, nil
}

// disabled reports whether OPTRACE_DISABLED says that nothing is to be recorded.
func disabled() bool {
	off, err := strconv.ParseBool(os.Getenv("OPTRACE_DISABLED"))
	return err == nil && off
}

// newTee returns the exporter of operations and one of OTLP as one.
func newTee(ctx context.Context) (sdktrace.SpanExporter, error) {
	file, err := newFileExporter(ctx)
	if err != nil {
		return nil, err
	}
	// Asking autoexport for it would wait for this function to return.
	otlp, err := newOTLPExporter(ctx)
	if err != nil {
		return nil, errors.Join(err, file.Shutdown(ctx))
	}
	return tee{file, otlp}, nil
}

func newOTLPExporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	protocol := cmp.Or(os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf")
	switch protocol {
	case "grpc":
		return otlptracegrpc.New(ctx)
	case "http/protobuf":
		return otlptracehttp.New(ctx)
	}
	return nil, fmt.Errorf("unknown OTLP protocol %q; there are grpc and http/protobuf", protocol)
}

// tee hands spans to several exporters, one after the other. The failure of one keeps
// nothing from the others.
type tee []sdktrace.SpanExporter

// ExportSpans implements [sdktrace.SpanExporter].
func (t tee) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	var errs []error
	for _, e := range t {
		errs = append(errs, e.ExportSpans(ctx, spans))
	}
	return errors.Join(errs...)
}

// Shutdown implements [sdktrace.SpanExporter].
func (t tee) Shutdown(ctx context.Context) error {
	var errs []error
	for _, e := range t {
		errs = append(errs, e.Shutdown(ctx))
	}
	return errors.Join(errs...)
}
