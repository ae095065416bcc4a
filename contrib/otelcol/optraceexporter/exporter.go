package optraceexporter

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.uber.org/zap"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/contrib/otelcol/internal/pdataop"
	"github.com/optrace/optrace/internal/model/attrmap"
	"github.com/optrace/optrace/internal/record/encoding/entries"
	"github.com/optrace/optrace/internal/record/observ"
	"github.com/optrace/optrace/internal/record/rotate"
	"github.com/optrace/optrace/internal/record/sink"
	"github.com/optrace/optrace/internal/record/traces"
	"github.com/optrace/optrace/internal/release"
	"github.com/optrace/optrace/op/attr"
)

const _ = release.ModulesMustBeOfOneReleaseV0_3_0

const scopeName = "github.com/optrace/optrace/contrib/otelcol/optraceexporter"

// fileExporter writes the operations of traces to a file. It is safe for concurrent use.
type fileExporter struct {
	cfg    *Config
	logger *zap.Logger
	file   *rotate.File
	sink   *sink.Sink

	// The holder of the sink uses the following fields.
	reader *pdataop.Reader
	traces traces.WithOps
}

func (e *fileExporter) start(context.Context, component.Host) error {
	compression, err := e.cfg.compression()
	if err != nil {
		return err
	}
	file, err := rotate.Open(e.cfg.Path, e.cfg.Rotation.limits(), sink.Inspect(entries.Format, compression))
	if err != nil {
		return fmt.Errorf("opening the file to export to: %w", err)
	}
	scope := instrumentation.Scope{Name: scopeName, Version: optrace.Version}
	s, err := sink.New(file, entries.Format, compression, observ.NewExporter(scope))
	if err != nil {
		return errors.Join(err, file.Close())
	}
	e.file = file
	e.sink = s
	e.reader = pdataop.NewReader(attrmap.With(nil, attr.Want{Keep: e.cfg.KeepAttributes}))
	return nil
}

// shutdown writes lost operations to the file, closes it and logs the counts.
func (e *fileExporter) shutdown(ctx context.Context) error {
	if e.sink == nil { // not started
		return nil
	}
	err := e.sink.Shutdown(ctx)
	n := e.sink.Stats()
	e.logger.Info("operations", zap.Uint64("written", n.Written), zap.Uint64("dropped", n.Dropped+n.Underway),
		zap.Uint64("deleted_files", e.file.Deleted()))
	return err
}

// consume writes the operations of td and the other spans. An error is permanent if the file may have a part of the
// batch: the rest counts as dropped, in the file too. A timeout before the write is not permanent.
func (e *fileExporter) consume(ctx context.Context, td ptrace.Traces) error {
	if err := e.sink.Acquire(ctx); err != nil {
		return err
	}
	batch, err := e.encode(td)
	if batch.Empty() {
		e.sink.Release()
	} else {
		err = errors.Join(err, e.sink.Submit(ctx, batch, nil))
	}
	if err != nil {
		return consumererror.NewPermanent(err)
	}
	return nil
}
