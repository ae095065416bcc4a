package optrace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/optrace/optrace/internal/record/env"
	"github.com/optrace/optrace/internal/record/process"
	"github.com/optrace/optrace/op"
)

// SetupOption configures [Setup] and [ProviderOptions]. What an option lists is added to what the same
// option lists before it, but for signals.
type SetupOption interface{ apply(*setupConfig) }

type setupConfig struct {
	path             string
	disabled         bool
	sampledOnly      bool
	sampler          sdktrace.Sampler             // nil: that of providerOptions or the environment
	forwards         []func() (*Processor, error) // to exporters beside the file
	exporterOptions  []ExporterOption
	processorOptions []ProcessorOption
	providerOptions  []sdktrace.TracerProviderOption
	attributes       []attribute.KeyValue
	signals          []os.Signal
	notGlobal        bool
}

// WithSpanExporter sends all spans, operations included, to another exporter beside the file, with the
// options of [NewForwarder].
func WithSpanExporter(e sdktrace.SpanExporter, opts ...ProcessorOption) SetupOption {
	return option[setupConfig](func(cfg *setupConfig) {
		cfg.forwards = append(cfg.forwards, func() (*Processor, error) { return NewForwarder(e, opts...) })
	})
}

// WithExporterOptions configures the file exporter.
func WithExporterOptions(opts ...ExporterOption) SetupOption {
	return option[setupConfig](func(cfg *setupConfig) { cfg.exporterOptions = append(cfg.exporterOptions, opts...) })
}

// WithProcessorOptions configures the Processor in front of the file.
func WithProcessorOptions(opts ...ProcessorOption) SetupOption {
	return option[setupConfig](func(cfg *setupConfig) { cfg.processorOptions = append(cfg.processorOptions, opts...) })
}

// WithProviderOptions configures the TracerProvider.
func WithProviderOptions(opts ...sdktrace.TracerProviderOption) SetupOption {
	return option[setupConfig](func(cfg *setupConfig) { cfg.providerOptions = append(cfg.providerOptions, opts...) })
}

// WithResourceAttributes adds attributes to the resource, in place of what was found out.
func WithResourceAttributes(attrs ...attribute.KeyValue) SetupOption {
	return option[setupConfig](func(cfg *setupConfig) { cfg.attributes = append(cfg.attributes, attrs...) })
}

// WithoutGlobalProvider leaves the global TracerProvider as it is: spans are those of
// [SDK.TracerProvider] alone. It is for [Setup].
func WithoutGlobalProvider() SetupOption {
	return option[setupConfig](func(cfg *setupConfig) { cfg.notGlobal = true })
}

// WithSignals makes the given signals, or without any SIGINT and SIGTERM, flush what was recorded
// before they end the program. It is for [Setup], in programs that do not handle these signals;
// programs that do call [SDK.Shutdown] before they end.
func WithSignals(signals ...os.Signal) SetupOption {
	if len(signals) == 0 {
		signals = []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	signals = slices.Clone(signals)
	return option[setupConfig](func(cfg *setupConfig) { cfg.signals = signals })
}

// SDK is what [Setup] has built. A nil or zero SDK records nothing.
type SDK struct {
	provider    *sdktrace.TracerProvider // nil if there is nothing to do
	before      trace.TracerProvider     // the global one before it; running guards it
	processor   *Processor               // nil if nothing is recorded
	processors  []*Processor             // all that Setup made
	stopSignals func()
	once        sync.Once
}

// TracerProvider returns the TracerProvider, which is the global one too unless
// [WithoutGlobalProvider] was given.
func (s *SDK) TracerProvider() trace.TracerProvider {
	if s == nil || s.provider == nil {
		return noop.NewTracerProvider()
	}
	return s.provider
}

// Tracer returns a new Tracer of the TracerProvider, nil if recording is disabled.
func (s *SDK) Tracer(opts ...TracerOption) *Tracer {
	if s == nil || s.processor == nil {
		return nil
	}
	return NewTracer(s.provider, opts...)
}

// Processor returns the Processor in front of the file, nil if recording is disabled.
func (s *SDK) Processor() *Processor {
	if s == nil {
		return nil
	}
	return s.processor
}

// ForceFlush returns when all that ended before the call is with the exporters, or ctx is done.
func (s *SDK) ForceFlush(ctx context.Context) error {
	if s == nil || s.provider == nil {
		return nil
	}
	return s.provider.ForceFlush(ctx)
}

// Shutdown flushes and ends everything. If the TracerProvider is still the global one, the one before
// it becomes that again, without those of SDKs that have ended. Later calls do nothing.
func (s *SDK) Shutdown(ctx context.Context) (err error) {
	if s == nil || s.provider == nil {
		return nil
	}
	s.once.Do(func() {
		s.stopSignals()
		s.leave()
		err = s.provider.Shutdown(ctx)
		for _, p := range s.processors { // which a provider does not shut down where ctx is done
			if lost := p.Shutdown(ctx); err == nil {
				err = lost
			}
		}
	})
	return err
}

// SpanLimits returns the SDK's limits with one difference: unless OTEL_SPAN_LINK_COUNT_LIMIT says
// otherwise a span keeps 4,096 links and not 128, since a step links to each request of its batch.
// [Setup] has these limits; a TracerProvider of one's own gets them by
//
//	sdktrace.WithRawSpanLimits(optrace.SpanLimits())
func SpanLimits() sdktrace.SpanLimits {
	limits := sdktrace.NewSpanLimits()
	if os.Getenv("OTEL_SPAN_LINK_COUNT_LIMIT") == "" {
		limits.LinkCountLimit = op.MaxLinks
	}
	return limits
}

// Setup makes a program record its operations into the file at path, which is appended to: it builds
// a file exporter, a Processor and a TracerProvider, and makes that the global one. With path "" the
// file is the one that OPTRACE_FILE names, or "ops.jsonl". With OPTRACE_DISABLED=true no operation is
// recorded and no file is touched: the Tracer and the Processor of the SDK are nil and do nothing,
// while exporters of [WithSpanExporter] and what [WithProviderOptions] brings go on.
//
// The file holds every operation and the spans above it, whatever the sampler decides: that of
// [WithSampler], of [WithProviderOptions] or of the environment. Exporters of [WithSpanExporter] and batch
// processors get sampled spans only. [WithSampledOnly] turns this off.
//
// The resource is that of the SDK with host, process and rank, see [ProcessDetector], and the limits
// are those of [SpanLimits], unless [WithProviderOptions] has others.
//
// Call Shutdown before the program ends. A signal that ends it costs what was recorded since the last
// flush, at most a second of it; see [WithSignals].
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
	cfg := newSetupConfig(path, opts)
	if cfg.disabled && len(cfg.forwards) == 0 && len(cfg.providerOptions) == 0 {
		return new(SDK), nil
	}
	provider, made, err := cfg.provider()
	if err != nil {
		return nil, &failure{"setup", err}
	}
	tp := sdktrace.NewTracerProvider(provider...)
	sdk := &SDK{provider: tp, processors: made, stopSignals: flushOnSignal(tp, cfg.signals)}
	if !cfg.disabled {
		sdk.processor = made[len(made)-1]
	}
	sdk.enter(!cfg.notGlobal)
	return sdk, nil
}

// running lists the SDKs that have not ended, each of which may restore a global provider.
var running struct {
	sync.Mutex
	sdks []*SDK
}

// enter notes the global provider, and makes that of s the global one if so asked.
func (s *SDK) enter(global bool) {
	running.Lock()
	defer running.Unlock()
	s.before = otel.GetTracerProvider()
	running.sdks = append(running.sdks, s)
	if global {
		otel.SetTracerProvider(s.provider)
	}
}

// leave restores the provider before s if that of s is the global one, and keeps other SDKs from restoring it.
func (s *SDK) leave() {
	running.Lock()
	defer running.Unlock()
	running.sdks = slices.DeleteFunc(running.sdks, func(other *SDK) bool { return other == s })
	for _, other := range running.sdks {
		if other.before == trace.TracerProvider(s.provider) {
			other.before = s.before
		}
	}
	if otel.GetTracerProvider() == trace.TracerProvider(s.provider) {
		otel.SetTracerProvider(s.before)
	}
}

// ProviderOptions returns what [Setup] makes its TracerProvider of, for one that the program makes and
// shuts down itself: resource, limits, sampler and span processors. Options behind them win. A sampler
// behind them drops operations, and the file names it: use [WithSampler] instead, or wrap the sampler in
// sdktrace.AlwaysRecord.
//
//	opts, err := optrace.ProviderOptions("ops.jsonl", optrace.WithSpanExporter(otlp, optrace.WithForwardThreshold(time.Millisecond)))
//	if err != nil {
//		log.Fatal(err)
//	}
//	tp := sdktrace.NewTracerProvider(opts...)
//	defer tp.Shutdown(context.Background())
//
// With OPTRACE_DISABLED=true no file is touched. An error leaves nothing open.
func ProviderOptions(path string, opts ...SetupOption) ([]sdktrace.TracerProviderOption, error) {
	provider, _, err := newSetupConfig(path, opts).provider()
	if err != nil {
		return nil, &failure{"provider options", err}
	}
	return provider, nil
}

// newSetupConfig applies the environment and then path and opts to the defaults.
func newSetupConfig(path string, opts []SetupOption) setupConfig {
	cfg := setupConfig{path: cmp.Or(path, os.Getenv("OPTRACE_FILE"), "ops.jsonl")}
	env.Bool("OPTRACE_DISABLED", &cfg.disabled)
	all := true
	env.Bool("OPTRACE_RECORD_ONLY", &all)
	cfg.sampledOnly = !all
	apply(&cfg, opts, SetupOption.apply)
	return cfg
}

// provider returns the options of the provider, and the Processors among them. The last one is that of the file, unless
// recording is disabled.
func (cfg setupConfig) provider() (opts []sdktrace.TracerProviderOption, made []*Processor, err error) {
	res := process.Resource(context.Background(), cfg.attributes)
	opts = append(opts, sdktrace.WithResource(res), sdktrace.WithRawSpanLimits(SpanLimits()))
	opts = append(opts, cfg.providerOptions...)
	opts = append(opts, cfg.samplerOption())
	defer func() {
		for _, p := range made {
			if err != nil {
				err = errors.Join(err, p.Shutdown(context.Background()))
			}
		}
	}()
	for _, start := range cfg.forwards {
		forwarder, err := start()
		if err != nil {
			return nil, made, err
		}
		made = append(made, forwarder)
		opts = append(opts, sdktrace.WithSpanProcessor(forwarder))
	}
	if cfg.disabled {
		return opts, made, nil
	}
	exp, err := NewFileExporter(cfg.path, cfg.exporterOptions...)
	if err != nil {
		return nil, made, err
	}
	all := processorOption{processors, "", func(c *processorConfig) { c.recordOnly = !cfg.sampledOnly }}
	proc, err := NewProcessor(exp, append([]ProcessorOption{all}, cfg.processorOptions...)...)
	if err != nil {
		return nil, made, errors.Join(err, exp.Shutdown(context.Background()))
	}
	if len(cfg.providerOptions) == 0 { // which may have another resource
		proc.expected = res
	}
	return append(opts, sdktrace.WithSpanProcessor(proc)), append(made, proc), nil
}

// signalFlush is how long a program that was told to end still flushes.
const signalFlush = 2 * time.Second

// flushOnSignal flushes tp when one of the signals comes, and then lets the signal take its usual
// effect, until stop is called.
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
				otel.Handle(&failure{fmt.Sprint("flushing on ", s), err})
			}
			cancel()
			signal.Stop(came)
			if p, err := os.FindProcess(os.Getpid()); err != nil || p.Signal(s) != nil {
				os.Exit(2) // as an interrupt does where a process cannot send itself a signal
			}
		case <-ended:
		}
	})
	return func() {
		signal.Stop(came)
		close(ended)
		wg.Wait()
	}
}

// ProcessDetector returns a detector of what tells the processes of a job apart: host.name,
// process.pid, and tensor.rank with tensor.world_size where the environment says them. It is for
// resources of one's own:
//
//	res, err := resource.New(ctx,
//		resource.WithDetectors(optrace.ProcessDetector()),
//		resource.WithFromEnv(), // what is said there wins
//		resource.WithAttributes(semconv.ServiceName("trainer")))
//
// The variables are RANK and WORLD_SIZE of torchrun, OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE of
// Open MPI, PMI_RANK and PMI_SIZE of MPICH, and SLURM_PROCID and SLURM_STEP_NUM_TASKS of Slurm. The
// first pair counts that is whole, with a rank below the size.
func ProcessDetector() resource.Detector { return process.Detector{} }
