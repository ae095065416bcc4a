package optrace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/optrace/optrace/internal/endsignal"
	"github.com/optrace/optrace/internal/env"
	"github.com/optrace/optrace/tensorconv"
)

// SetupOption configures [Setup].
type SetupOption interface{ applySetup(setupConfig) setupConfig }

type setupConfig struct {
	path             string
	disabled         bool
	spanExporter     sdktrace.SpanExporter
	forwards         bool // WithSpanExporter was used
	exporterOptions  []FileExporterOption
	processorOptions []ProcessorOption
	forwardOptions   []ForwarderOption
	providerOptions  []sdktrace.TracerProviderOption
	signals          []os.Signal
}

type setupOption func(setupConfig) setupConfig

func (o setupOption) applySetup(cfg setupConfig) setupConfig { return o(cfg) }

// WithSpanExporter sends all spans, operations included, to a second exporter
// beside the file, such as one of OTLP. opts are those of
// [NewForwarder]; [WithForwardThreshold] keeps short operations away from it.
func WithSpanExporter(e sdktrace.SpanExporter, opts ...ForwarderOption) SetupOption {
	return setupOption(func(cfg setupConfig) setupConfig {
		cfg.spanExporter, cfg.forwardOptions, cfg.forwards = e, opts, true
		return cfg
	})
}

// WithExporterOptions configures the file exporter.
func WithExporterOptions(opts ...FileExporterOption) SetupOption {
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

// WithSignals makes the given signals, or without any SIGINT and SIGTERM, flush
// what was recorded before they end the program. It is for programs that do not
// handle these signals: nobody can know whether a program does, and the end that
// it prepares for itself must not be cut short. Programs that do call
// [SDK.Shutdown] before they end.
func WithSignals(signals ...os.Signal) SetupOption {
	if len(signals) == 0 {
		signals = endsignal.Signals()
	}
	signals = slices.Clone(signals)
	return setupOption(func(cfg setupConfig) setupConfig {
		cfg.signals = signals
		return cfg
	})
}

// WithoutSignals leaves all signals to the program, which is the default.
func WithoutSignals() SetupOption {
	return setupOption(func(cfg setupConfig) setupConfig {
		cfg.signals = nil
		return cfg
	})
}

// SDK is what [Setup] has built.
type SDK struct {
	provider  trace.TracerProvider
	processor *Processor
	shutdown  func(context.Context) error
	once      sync.Once
}

// TracerProvider returns the TracerProvider, which is the global one too.
func (s *SDK) TracerProvider() trace.TracerProvider { return s.provider }

// Tracer returns a Tracer of the TracerProvider. Keep it: every call makes one.
func (s *SDK) Tracer(opts ...TracerOption) *Tracer { return NewTracer(s.provider, opts...) }

// Processor returns the Processor in front of the file, for its Stats and its
// Recorder. It does nothing if recording is disabled.
func (s *SDK) Processor() *Processor { return s.processor }

// Shutdown flushes and ends everything, and makes the TracerProvider that was the
// global one before Setup the global one again. The second and later calls do
// nothing.
func (s *SDK) Shutdown(ctx context.Context) (err error) {
	s.once.Do(func() { err = s.shutdown(ctx) })
	return err
}

// Setup makes a program record its operations into the file at path, which is
// appended to: it builds a file exporter, a Processor and a TracerProvider, and
// makes that the global one. With path "" the file is the one that the
// environment variable OPTRACE_FILE names, "ops.jsonl" if it is not set. With
// OPTRACE_DISABLED=true nothing is recorded and no file is touched.
//
// The resource is that of the SDK with host, process and rank, see [ProcessDetector],
// unless [WithProviderOptions] has another one.
//
// Call Shutdown before the program ends. A signal that ends a program which does
// not handle it costs what was recorded since the last flush, at most a second of
// it; see [WithSignals].
//
//	sdk, err := optrace.Setup("ops.jsonl")
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer sdk.Shutdown(context.Background())
//	tr := sdk.Tracer()
//
// On an error nothing has been changed.
func Setup(path string, opts ...SetupOption) (*SDK, error) {
	cfg := env.Apply(setupConfig{path: "ops.jsonl"}, setupVariables)
	if path != "" {
		cfg.path = path
	}
	for _, o := range opts {
		if o != nil {
			cfg = o.applySetup(cfg)
		}
	}
	before := otel.GetTracerProvider()
	if cfg.disabled {
		tp := noop.NewTracerProvider()
		otel.SetTracerProvider(tp)
		return &SDK{provider: tp, processor: new(Processor), shutdown: func(context.Context) error {
			otel.SetTracerProvider(before)
			return nil
		}}, nil
	}
	tp, proc, err := newProvider(cfg)
	if err != nil {
		return nil, fmt.Errorf("optrace: setup: %w", err)
	}
	otel.SetTracerProvider(tp)
	stopSignals := flushOnSignal(tp, cfg.signals)
	return &SDK{provider: tp, processor: proc, shutdown: func(ctx context.Context) error {
		stopSignals()
		otel.SetTracerProvider(before)
		return tp.Shutdown(ctx)
	}}, nil
}

func newProvider(cfg setupConfig) (*sdktrace.TracerProvider, *Processor, error) {
	res := processResource(context.Background())
	provider := append([]sdktrace.TracerProviderOption{sdktrace.WithResource(res)}, cfg.providerOptions...)
	undo := func(err error) error { return err }
	if cfg.forwards {
		forwarder, err := NewForwarder(cfg.spanExporter, cfg.forwardOptions...)
		if err != nil {
			return nil, nil, err
		}
		provider = append(provider, sdktrace.WithSpanProcessor(forwarder))
		undo = func(err error) error { return errors.Join(err, forwarder.Shutdown(context.Background())) }
	}
	exp, err := NewFileExporter(cfg.path, cfg.exporterOptions...)
	if err != nil {
		return nil, nil, undo(err)
	}
	proc, err := NewProcessor(exp, cfg.processorOptions...)
	if err != nil {
		return nil, nil, undo(errors.Join(err, exp.Shutdown(context.Background())))
	}
	if len(cfg.providerOptions) == 0 { // which may have another resource
		proc.expected = res
	}
	return sdktrace.NewTracerProvider(append(provider, sdktrace.WithSpanProcessor(proc))...), proc, nil
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

// ProcessDetector returns a detector of what tells the processes of a job apart: host.name,
// process.pid, and tensor.rank with tensor.world_size where the program that started the
// process says them in the environment. It is for resources of one's own, which [Setup]
// knows nothing of:
//
//	res, err := resource.New(ctx,
//		resource.WithDetectors(optrace.ProcessDetector()),
//		resource.WithFromEnv(), // what is said there wins
//		resource.WithAttributes(semconv.ServiceName("trainer")))
//
// The variables are RANK and WORLD_SIZE of torchrun, OMPI_COMM_WORLD_RANK and
// OMPI_COMM_WORLD_SIZE of Open MPI, PMI_RANK and PMI_SIZE of MPICH, and SLURM_PROCID and
// SLURM_STEP_NUM_TASKS of Slurm. The first pair counts that is whole, with a rank below the
// size.
func ProcessDetector() resource.Detector { return processDetector{} }

type processDetector struct{}

// Detect returns the resource.
func (processDetector) Detect(ctx context.Context) (*resource.Resource, error) {
	return resource.New(ctx, resource.WithHost(), resource.WithProcessPID(), resource.WithAttributes(launchedAs()...))
}

// launchers are the variables with the rank and with the number of ranks.
var launchers = [...][2]string{
	{"RANK", "WORLD_SIZE"},
	{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"PMI_RANK", "PMI_SIZE"},
	{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
}

// launchedAs returns the rank of the process and the number of ranks, if the environment
// has them.
func launchedAs() []attribute.KeyValue {
	for _, names := range launchers {
		rank, err := strconv.ParseInt(os.Getenv(names[0]), 10, 32)
		size, sizeErr := strconv.ParseInt(os.Getenv(names[1]), 10, 32)
		if err == nil && sizeErr == nil && 0 <= rank && rank < size {
			return []attribute.KeyValue{tensorconv.Rank(rank), tensorconv.WorldSize(size)}
		}
	}
	return nil
}

// processResource returns the resource of a program that states none: what the SDK and the
// environment say of it, and what is detected beside that.
func processResource(ctx context.Context) *resource.Resource {
	r, err := processDetector{}.Detect(ctx)
	if err != nil {
		otel.Handle(err)
	}
	for _, stated := range []*resource.Resource{resource.Default(), resource.Environment()} {
		if r, err = resource.Merge(r, stated); err != nil {
			otel.Handle(err)
		}
	}
	return r
}
