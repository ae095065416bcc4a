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
	"github.com/optrace/optrace/internal/release"
)

const _ = release.ModulesMustBeOfOneReleaseV0_3_0

// The values of OTEL_TRACES_EXPORTER.
const (
	// Name writes operations to a file.
	Name = "optrace"
	// NameWithOTLP also sends all spans by OTLP.
	NameWithOTLP = "optrace+otlp"
)

func init() {
	autoexport.RegisterSpanExporter(Name, newFileExporter)
	autoexport.RegisterSpanExporter(NameWithOTLP, newTee)
}

const defaultFile = "ops.jsonl" // the default of OPTRACE_FILE, as for [optrace.Setup]

// newFileExporter returns the exporter of operations configured by the environment.
func newFileExporter(context.Context) (sdktrace.SpanExporter, error) {
	if off, err := strconv.ParseBool(os.Getenv("OPTRACE_DISABLED")); err == nil && off {
		return tee{}, nil
	}
	exp, err := optrace.NewFileExporter(cmp.Or(os.Getenv("OPTRACE_FILE"), defaultFile))
	if err != nil {
		return nil, err // exp would be a nil pointer in an interface
	}
	return exp, nil
}

// newTee returns one exporter for operations and OTLP.
func newTee(ctx context.Context) (sdktrace.SpanExporter, error) {
	file, err := newFileExporter(ctx)
	if err != nil {
		return nil, err
	}
	// autoexport's own function would wait for this one.
	otlp, err := newOTLPExporter(ctx)
	if err != nil {
		return nil, errors.Join(err, file.Shutdown(ctx))
	}
	return tee{file, otlp}, nil
}

func newOTLPExporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	own := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
	protocol := cmp.Or(own, os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf")
	switch protocol {
	case "grpc":
		return otlptracegrpc.New(ctx)
	case "http/protobuf":
		return otlptracehttp.New(ctx)
	}
	return nil, fmt.Errorf("unknown OTLP protocol %q; there are grpc and http/protobuf", protocol)
}

// tee calls several exporters one after the other, even after an error.
type tee []sdktrace.SpanExporter

// ExportSpans implements [sdktrace.SpanExporter].
func (t tee) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	var err error
	for _, e := range t {
		err = errors.Join(err, e.ExportSpans(ctx, spans))
	}
	return err
}

// Shutdown implements [sdktrace.SpanExporter].
func (t tee) Shutdown(ctx context.Context) error {
	var err error
	for _, e := range t {
		err = errors.Join(err, e.Shutdown(ctx))
	}
	return err
}
