package optraceconnector

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.uber.org/zap"

	"github.com/optrace/optrace/contrib/otelcol/internal/pdataop"
)

// flusher is common to the connectors: it calls flush at an interval while a component runs, and at its end.
type flusher struct {
	interval time.Duration
	flush    func(context.Context) error
	logger   *zap.Logger

	mu     sync.Mutex // guards the fields of the connector
	reader *pdataop.Reader

	stop, done chan struct{} // nil until Start
}

// Capabilities implements consumer.Traces.
func (*flusher) Capabilities() consumer.Capabilities {
	return consumer.Capabilities{MutatesData: false}
}

// Start implements component.Component.
func (f *flusher) Start(context.Context, component.Host) error {
	f.stop, f.done = make(chan struct{}), make(chan struct{})
	go f.run()
	return nil
}

func (f *flusher) run() {
	defer close(f.done)
	tick := time.NewTicker(f.interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := f.flush(context.Background()); err != nil {
				f.logger.Error("sending on what operations cost", zap.Error(err))
			}
		case <-f.stop:
			return
		}
	}
}

// Shutdown implements component.Component.
func (f *flusher) Shutdown(ctx context.Context) error {
	if f.stop == nil {
		return nil
	}
	close(f.stop)
	select {
	case <-f.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return f.flush(ctx)
}
