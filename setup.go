package optrace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/optrace/optrace/internal/endsignal"
	"github.com/optrace/optrace/internal/env"
)

// SetupOption configures [Setup].
type SetupOption interface{ applySetup(setupConfig) setupConfig }

type setupConfig struct {
	path             string
	disabled         bool
	spanExporter     sdktrace.SpanExporter
	exporterOptions  []Option
	processorOptions []ProcessorOption
	forwardOptions   []ProcessorOption
	providerOptions  []sdktrace.TracerProviderOption
	signals          []os.Signal
}

type setupOption func(setupConfig) setupConfig

func (o setupOption) applySetup(cfg setupConfig) setupConfig { return o(cfg) }

// WithSpanExporter sends all spans, operations included, to a second exporter
// beside the file, such as one of OTLP. opts configure the Processor in front
// of it; [WithForwardThreshold] keeps short operations away from it.
func WithSpanExporter(e sdktrace.SpanExporter, opts ...ProcessorOption) SetupOption {
	return setupOption(func(cfg setupConfig) setupConfig {
		cfg.spanExporter, cfg.forwardOptions = e, opts
		return cfg
	})
}

// WithExporterOptions configures the file exporter.
func WithExporterOptions(opts ...Option) SetupOption {
	return setupOption(func(cfg setupConfig) setupConfig {
		cfg.exporterOptions = opts
		return cfg
	})
}

// WithProcessorOptions configures the Processor in front of the file.
func WithProcessorOptions(opts ...ProcessorOption) SetupOption {
	return setupOption(func(cfg setupConfig) setupConfig {
		cfg.processorOptions = opts
		return cfg
	})
}

// WithProviderOptions configures the TracerProvider: its resource, sampler,
// limits and further span processors.
func WithProviderOptions(opts ...sdktrace.TracerProviderOption) SetupOption {
	return setupOption(func(cfg setupConfig) setupConfig {
		cfg.providerOptions = opts
		return cfg
	})
}

// WithoutSignals leaves SIGINT and SIGTERM to the program. It is for programs
// that handle them and call the shutdown function themselves.
func WithoutSignals() SetupOption {
	return setupOption(func(cfg setupConfig) setupConfig {
		cfg.signals = nil
		return cfg
	})
}

// Setup makes a program record its operations into the file at path, which is
// appended to: it builds a file exporter, a Processor and a TracerProvider, and
// makes that the global one. With path "" the file is the one that the
// environment variable OPTRACE_FILE names, "ops.jsonl" where it is not set.
// With OPTRACE_DISABLED=true nothing is recorded and no file is touched.
//
// The returned function flushes and ends all of that; call it before the
// program ends. On SIGINT and SIGTERM what has been recorded is flushed before
// the signal takes its usual effect.
//
//	shutdown, err := optrace.Setup("ops.jsonl")
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer shutdown(context.Background())
//	tr := optrace.NewTracer(otel.GetTracerProvider())
//
// On an error nothing has been changed, and the returned function is a no-op.
func Setup(path string, opts ...SetupOption) (shutdown func(context.Context) error, err error) {
	cfg := env.Apply(setupConfig{path: "ops.jsonl", signals: endsignal.Signals()}, setupVariables)
	if path != "" {
		cfg.path = path
	}
	for _, o := range opts {
		if o != nil {
			cfg = o.applySetup(cfg)
		}
	}
	nothing := func(context.Context) error { return nil }
	if cfg.disabled {
		before := otel.GetTracerProvider()
		otel.SetTracerProvider(noop.NewTracerProvider())
		return func(context.Context) error { otel.SetTracerProvider(before); return nil }, nil
	}
	tp, err := newProvider(cfg)
	if err != nil {
		return nothing, fmt.Errorf("optrace: setup: %w", err)
	}
	before := otel.GetTracerProvider()
	otel.SetTracerProvider(tp)
	stopSignals := flushOnSignal(tp, cfg.signals)
	var once sync.Once
	return func(ctx context.Context) (err error) {
		once.Do(func() {
			stopSignals()
			otel.SetTracerProvider(before)
			err = tp.Shutdown(ctx)
		})
		return err
	}, nil
}

func newProvider(cfg setupConfig) (*sdktrace.TracerProvider, error) {
	var forward *Processor
	if cfg.spanExporter != nil {
		var err error
		if forward, err = NewProcessor(cfg.spanExporter, cfg.forwardOptions...); err != nil {
			return nil, err
		}
	}
	provider := append([]sdktrace.TracerProviderOption(nil), cfg.providerOptions...)
	exp, err := NewFileExporter(cfg.path, cfg.exporterOptions...)
	if err != nil {
		return nil, errors.Join(err, stop(forward))
	}
	proc, err := NewProcessor(exp, cfg.processorOptions...)
	if err != nil {
		return nil, errors.Join(err, exp.Shutdown(context.Background()), stop(forward))
	}
	provider = append(provider, sdktrace.WithSpanProcessor(proc))
	if forward != nil {
		provider = append(provider, sdktrace.WithSpanProcessor(forward))
	}
	return sdktrace.NewTracerProvider(provider...), nil
}

// stop ends a Processor that is not used after all.
func stop(p *Processor) error {
	if p == nil {
		return nil
	}
	return p.Shutdown(context.Background())
}

// signalFlush is how long a program that was told to end still flushes.
const signalFlush = 2 * time.Second

// flushOnSignal flushes tp when one of the signals comes, and then lets the
// signal take its usual effect. The returned function ends that.
func flushOnSignal(tp *sdktrace.TracerProvider, signals []os.Signal) (stop func()) {
	if len(signals) == 0 {
		return func() {}
	}
	came := make(chan os.Signal, 1)
	signal.Notify(came, signals...)
	ended := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case s := <-came:
			ctx, cancel := context.WithTimeout(context.Background(), signalFlush)
			if err := tp.ForceFlush(ctx); err != nil {
				otel.Handle(fmt.Errorf("optrace: flushing on %v: %w", s, err))
			}
			cancel()
			signal.Stop(came)
			endsignal.Raise(s)
		case <-ended:
		}
	})
	return func() {
		signal.Stop(came)
		close(ended)
		wg.Wait()
	}
}

// setupVariables set the defaults of Setup.
var setupVariables = []env.Variable[setupConfig]{
	{Name: "OPTRACE_FILE", Set: func(cfg *setupConfig, v string) error {
		cfg.path = v
		return nil
	}},
	{Name: "OPTRACE_DISABLED", Set: func(cfg *setupConfig, v string) error {
		return env.Bool(&cfg.disabled, v)
	}},
}
