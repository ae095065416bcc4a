package optrace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
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

// SetupOption configures [Setup], [ProviderOptions] and [NewTracer]. Repeated options add up, except [WithSignals] and
// [WithSampler], where the last one wins.
type SetupOption interface{ apply(*setupConfig) }

type setupConfig struct {
	path                  string
	disabled, sampledOnly bool
	startAttributes       bool                         // of Tracers
	sampler               sdktrace.Sampler             // nil: from providerOptions or the environment
	forwards              []func() (*Processor, error) // make the forwarders
	exporterOptions       []ExporterOption
	processorOptions      []ProcessorOption
	providerOptions       []sdktrace.TracerProviderOption
	attributes            []attribute.KeyValue
	signals               []os.Signal
	notGlobal             bool
}

// WithSpanExporter also sends all spans, including operations, to e through [NewForwarder] with opts.
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

// WithResourceAttributes adds attributes to the resource. They win over detected attributes.
func WithResourceAttributes(attrs ...attribute.KeyValue) SetupOption {
	return option[setupConfig](func(cfg *setupConfig) { cfg.attributes = append(cfg.attributes, attrs...) })
}

// WithoutGlobalProvider leaves the global TracerProvider unchanged: use [SDK.TracerProvider]. It is for [Setup].
func WithoutGlobalProvider() SetupOption {
	return option[setupConfig](func(cfg *setupConfig) { cfg.notGlobal = true })
}

// WithSignals flushes before one of the signals, by default SIGINT and SIGTERM, ends the program. It is for [Setup] in
// programs without handlers for these signals. A program with a handler calls [SDK.Shutdown] before it ends.
func WithSignals(signals ...os.Signal) SetupOption {
	if len(signals) == 0 {
		signals = []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	signals = slices.Clone(signals)
	return option[setupConfig](func(cfg *setupConfig) { cfg.signals = signals })
}

// WithSampler sets the sampler. It replaces samplers of [WithProviderOptions] and OTEL_TRACES_SAMPLER, and selects the
// spans for exporters of [WithSpanExporter]. The file holds all operations regardless; see [WithSampledOnly].
func WithSampler(s sdktrace.Sampler) SetupOption {
	return option[setupConfig](func(cfg *setupConfig) { cfg.sampler = s })
}

// WithSampledOnly leaves operations of unsampled traces out of the file. By default the provider wraps its sampler in
// sdktrace.AlwaysRecord: the file holds all operations and the spans above them, IsRecording is true for every span,
// and an operation of an unsampled trace costs as much as a sampled one. OPTRACE_RECORD_ONLY=false sets this option.
func WithSampledOnly() SetupOption {
	return option[setupConfig](func(cfg *setupConfig) { cfg.sampledOnly = true })
}

// WithStartAttributes makes a Tracer pass the operation's name and device to the SDK when a span starts, for samplers
// that use more than the span's name. Each operation then makes four more allocations. It does not affect prepared
// operations and a [Recorder]. It is for [NewTracer], [SDK.Tracer], and for all Tracers of [Setup]. Default: off.
func WithStartAttributes() SetupOption {
	return option[setupConfig](func(cfg *setupConfig) { cfg.startAttributes = true })
}

// samplerOption returns the option for the provider's sampler. It goes behind cfg.providerOptions.
func (cfg *setupConfig) samplerOption() sdktrace.TracerProviderOption {
	s := cfg.sampler
	if cfg.sampledOnly || cfg.disabled {
		return sdktrace.WithSampler(s) // nil has no effect
	}
	switch {
	case s != nil:
	case len(cfg.providerOptions) == 0 && os.Getenv("OTEL_TRACES_SAMPLER") == "":
		s = sdktrace.ParentBased(sdktrace.AlwaysSample()) // the SDK's default
	default:
		s = samplerOf(sdktrace.NewTracerProvider(cfg.providerOptions...))
	}
	if s == nil {
		otel.Handle(errors.New("optrace: setup: operations that the sampler drops are not recorded: " +
			"it cannot be read from this version of the SDK; give it to WithSampler"))
		return sdktrace.WithSampler(nil)
	}
	return sdktrace.WithSampler(sdktrace.AlwaysRecord(s))
}

// SDK holds the parts made by [Setup]. It is safe for concurrent use. A nil or zero SDK is a no-op.
type SDK struct {
	provider        *sdktrace.TracerProvider // nil if recording is disabled and no other exporter is set
	before          trace.TracerProvider     // earlier global provider; running guards it
	processor       *Processor               // nil if recording is disabled
	processors      []*Processor             // processor and the forwarders
	startAttributes bool
	stopSignals     func()
	once            sync.Once
}

// TracerProvider returns the TracerProvider. It is also the global one, unless [WithoutGlobalProvider] is set.
func (s *SDK) TracerProvider() trace.TracerProvider {
	if s == nil || s.provider == nil {
		return noop.NewTracerProvider()
	}
	return s.provider
}

// Tracer returns a new Tracer of the TracerProvider, with opts as for [NewTracer]. It returns nil if recording is disabled.
func (s *SDK) Tracer(opts ...SetupOption) *Tracer {
	if s == nil || s.processor == nil {
		return nil
	}
	t := NewTracer(s.provider, opts...)
	t.startAttributes = t.startAttributes || s.startAttributes
	return t
}

// Processor returns the Processor in front of the file, or nil if recording is disabled.
func (s *SDK) Processor() *Processor {
	if s == nil {
		return nil
	}
	return s.processor
}

// ForceFlush waits until the exporters have all spans that ended before the call, or ctx is done.
func (s *SDK) ForceFlush(ctx context.Context) error {
	if s == nil || s.provider == nil {
		return nil
	}
	return s.provider.ForceFlush(ctx)
}

// Shutdown flushes and ends all parts. If the TracerProvider is still the global one, Shutdown restores the earlier
// one, skipping SDKs that have ended. Further calls are no-ops.
func (s *SDK) Shutdown(ctx context.Context) (err error) {
	if s == nil || s.provider == nil {
		return nil
	}
	s.once.Do(func() {
		s.stopSignals()
		s.leave()
		err = s.provider.Shutdown(ctx)
		for _, p := range s.processors { // the provider skips them if ctx is done
			if lost := p.Shutdown(ctx); err == nil {
				err = lost
			}
		}
	})
	return err
}

// SpanLimits returns the SDK's limits, but for 4,096 links per span in place of 128 unless OTEL_SPAN_LINK_COUNT_LIMIT
// is set: a step links to each request of its batch. [Setup] sets these limits. Another TracerProvider gets them by
//
//	sdktrace.WithRawSpanLimits(optrace.SpanLimits())
func SpanLimits() sdktrace.SpanLimits {
	limits := sdktrace.NewSpanLimits()
	if os.Getenv("OTEL_SPAN_LINK_COUNT_LIMIT") == "" {
		limits.LinkCountLimit = op.MaxLinks
	}
	return limits
}

// Setup makes a program append its operations to the file at path. It builds a file exporter, a Processor and a
// TracerProvider, and makes the provider global. With path "" the file is OPTRACE_FILE, or "ops.jsonl". With
// OPTRACE_DISABLED=true it records no operation and touches no file: the SDK's Tracer and Processor are nil and have no
// effect, while exporters of [WithSpanExporter] and options of [WithProviderOptions] still work.
//
// The file holds every operation and the spans above it, whatever the sampler decides; see [WithSampledOnly]. Exporters
// of [WithSpanExporter] and batch processors get sampled spans only.
//
// The resource is the SDK's, with host, process and rank from [ProcessDetector]. The limits are [SpanLimits].
// [WithProviderOptions] overrides both.
//
// Call Shutdown before the program ends. A signal that ends the program loses the operations since the last flush, at
// most one second of them; see [WithSignals].
//
//	sdk, err := optrace.Setup("ops.jsonl")
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer sdk.Shutdown(context.Background())
//	tr := sdk.Tracer()
//
// On an error Setup changes no state.
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
	sdk := &SDK{provider: tp, processors: made, startAttributes: cfg.startAttributes}
	sdk.stopSignals = flushOnSignal(tp, cfg.signals)
	if !cfg.disabled {
		sdk.processor = made[len(made)-1]
	}
	sdk.enter(!cfg.notGlobal)
	return sdk, nil
}

// running lists the SDKs that have not ended. Each may restore a global provider.
var running struct {
	sync.Mutex
	sdks []*SDK
}

// enter notes the global provider, and replaces it by s's provider if global is set.
func (s *SDK) enter(global bool) {
	running.Lock()
	defer running.Unlock()
	s.before = otel.GetTracerProvider()
	running.sdks = append(running.sdks, s)
	if global {
		otel.SetTracerProvider(s.provider)
	}
}

// leave restores the earlier provider if s's provider is global, and keeps other SDKs from restoring s's provider.
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

// ProviderOptions returns the options of the TracerProvider that [Setup] would make: resource, limits, sampler and span
// processors. The program makes and shuts down the provider. Later options win. A later sampler drops operations, and
// the file then names it: use [WithSampler], or wrap it in sdktrace.AlwaysRecord.
//
//	opts, err := optrace.ProviderOptions("ops.jsonl",
//		optrace.WithSpanExporter(otlp, optrace.WithForwardThreshold(time.Millisecond)))
//	if err != nil {
//		log.Fatal(err)
//	}
//	tp := sdktrace.NewTracerProvider(opts...)
//	defer tp.Shutdown(context.Background())
//
// With OPTRACE_DISABLED=true it touches no file. On an error it leaves no file open.
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

// provider returns the options of the provider and the Processors among them. The last Processor is the file's, unless
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
	recordOnly := processorOption{processors, "", func(c *processorConfig) { c.recordOnly = !cfg.sampledOnly }}
	proc, err := NewProcessor(exp, append([]ProcessorOption{recordOnly}, cfg.processorOptions...)...)
	if err != nil {
		return nil, made, errors.Join(err, exp.Shutdown(context.Background()))
	}
	if len(cfg.providerOptions) == 0 { // they may set another resource
		proc.expected = res
	}
	return append(opts, sdktrace.WithSpanProcessor(proc)), append(made, proc), nil
}

const signalFlush = 2 * time.Second // bounds the flush on a signal

// flushOnSignal flushes tp on one of the signals and then lets the signal take its default effect. stop ends this.
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
				os.Exit(2) // a process that cannot signal itself exits as after an interrupt
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

// ProcessDetector returns a detector of the attributes that tell the processes of a job apart: host.name, process.pid,
// and tensor.rank with tensor.world_size if the environment has them. Use it for your own resource:
//
//	res, err := resource.New(ctx,
//		resource.WithDetectors(optrace.ProcessDetector()),
//		resource.WithFromEnv(), // the environment wins
//		resource.WithAttributes(semconv.ServiceName("trainer")))
//
// It reads RANK and WORLD_SIZE of torchrun, OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE of Open MPI, PMI_RANK and
// PMI_SIZE of MPICH, and SLURM_PROCID and SLURM_STEP_NUM_TASKS of Slurm. The first complete pair with a rank below the
// size wins.
func ProcessDetector() resource.Detector { return process.Detector{} }

// failure is the error of a task. Its text names the package once.
type failure struct {
	task  string
	cause error
}

const packagePrefix = "optrace: "

// Error implements error.
func (f *failure) Error() string {
	cause := strings.ReplaceAll("\n"+f.cause.Error(), "\n"+packagePrefix, "\n")
	return packagePrefix + f.task + ": " + cause[1:]
}

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.cause }
