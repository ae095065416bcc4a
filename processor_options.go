package optrace

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/record/env"
	"github.com/optrace/optrace/internal/record/pipeline"
	"github.com/optrace/optrace/internal/record/shapes"
)

// ProcessorOption configures a [Processor] or a [FlightRecorder]. Those that say so are for some of the constructors, and an
// error of the others.
type ProcessorOption interface{ applyProcessor(*processorConfig) }

// CacheOption configures an [Exporter], a [Processor] in front of one, or a [FlightRecorder].
type CacheOption interface {
	ExporterOption
	ProcessorOption
}

// role is what an option is for.
type role uint8

const (
	processors role = 1 << iota
	forwarders
	flightRecorders
	all = processors | forwarders | flightRecorders
)

func (r role) String() string {
	return map[role]string{processors: "processor", forwarders: "forwarder", flightRecorders: "flight recorder"}[r]
}

// processorOption is an option of the roles that its name stands for.
type processorOption struct {
	of   role
	name string
	set  func(*processorConfig)
}

func (o processorOption) applyProcessor(cfg *processorConfig) {
	cfg.wrong.add(o.of&cfg.role == 0, "%s is not for a %v", o.name, cfg.role)
	if o.of&cfg.role != 0 {
		o.set(cfg)
	}
}

type processorConfig struct {
	role  role
	wrong faults // of options

	policy        Policy
	bufferBytes   int64
	cacheBytes    int64
	flushInterval time.Duration
	exportTimeout time.Duration
	recordOnly    bool
	filter        func(sdktrace.ReadOnlySpan) bool

	forwardThreshold time.Duration
	forwardRatio     float64

	dumpOnError bool
	dumpOnSlow  time.Duration
	dumpSignals []os.Signal
}

// newProcessorConfig applies the environment and then opts to the defaults.
func newProcessorConfig(r role, opts []ProcessorOption) (processorConfig, error) {
	cfg := processorConfig{
		role:          r,
		bufferBytes:   64 << 20,
		cacheBytes:    64 << 20,
		flushInterval: time.Second,
		exportTimeout: 30 * time.Second,
	}
	cfg.readEnvironment()
	apply(&cfg, opts, ProcessorOption.applyProcessor)
	if err := cfg.validate(); err != nil {
		return cfg, fmt.Errorf("optrace: new %v: %w", r, err)
	}
	return cfg, nil
}

// readEnvironment sets what variables say, as far as they are for the role.
func (cfg *processorConfig) readEnvironment() {
	env.Int("OPTRACE_MAX_BYTES", &cfg.bufferBytes, pipeline.MinMaxBytes)
	env.Duration("OPTRACE_EXPORT_TIMEOUT", &cfg.exportTimeout, 1)
	env.Bool("OPTRACE_RECORD_ONLY", &cfg.recordOnly)
	cfg.recordOnly = cfg.recordOnly && cfg.role != forwarders // unsampled spans are sent only where the code says so
	if cfg.role != flightRecorders {
		env.Choice("OPTRACE_POLICY", &cfg.policy, PolicyDropNewest, PolicyDropOldest, PolicyBlock)
		env.Duration("OPTRACE_FLUSH_INTERVAL", &cfg.flushInterval, 1)
	}
	if cfg.role == forwarders {
		env.Duration("OPTRACE_FORWARD_THRESHOLD", &cfg.forwardThreshold, 0)
		env.Set("OPTRACE_FORWARD_SAMPLING", func(v string) error {
			ratio, err := strconv.ParseFloat(v, 64)
			if err != nil || !(ratio >= 0 && ratio <= 1) {
				return errors.New("want a number between 0 and 1")
			}
			cfg.forwardRatio = ratio
			return nil
		})
	}
}

func (cfg processorConfig) validate() error {
	wrong := cfg.wrong
	wrong.add(cfg.policy > PolicyBlock, "unknown policy %d", cfg.policy)
	wrong.add(cfg.bufferBytes < pipeline.MinMaxBytes, "a bound of %d bytes is below %d", cfg.bufferBytes, pipeline.MinMaxBytes)
	wrong.add(cfg.cacheBytes < 0, "cache size %d is negative", cfg.cacheBytes)
	wrong.add(cfg.flushInterval <= 0, "flush interval %v is not positive", cfg.flushInterval)
	wrong.add(cfg.exportTimeout <= 0, "export timeout %v is not positive", cfg.exportTimeout)
	wrong.add(cfg.forwardThreshold < 0, "forwarding threshold %v is negative", cfg.forwardThreshold)
	wrong.add(!(cfg.forwardRatio >= 0 && cfg.forwardRatio <= 1), "forwarding ratio %v is not between 0 and 1", cfg.forwardRatio)
	wrong.add(cfg.dumpOnSlow < 0, "duration %v of slow local roots is negative", cfg.dumpOnSlow)
	return errors.Join(wrong...)
}

// pipeline returns the configuration of a pipeline.
func (cfg processorConfig) pipeline() pipeline.Config {
	return pipeline.Config{
		Policy: pipeline.Policy(cfg.policy), MaxBytes: cfg.bufferBytes,
		FlushInterval: cfg.flushInterval, ExportTimeout: cfg.exportTimeout, CacheBytes: cfg.encoderBytes(),
		OnError: cfg.dumpOnError, OnSlow: cfg.dumpOnSlow, Signals: cfg.dumpSignals,
	}
}

// shapeBytes and encoderBytes are the parts of the caches' memory, those of Recorders and encoders.
func (cfg processorConfig) shapeBytes() int   { return min(shapes.DefaultBytes, int(cfg.cacheBytes/5)) }
func (cfg processorConfig) encoderBytes() int { return int(cfg.cacheBytes) - cfg.shapeBytes() }

// Policy says what a [Processor] does with an operation for which there is no
// room because the exporter does not keep up.
type Policy uint8

// The policies. Under each of them every lost operation is counted.
const (
	// PolicyDropNewest loses the operation that just ended. It never blocks.
	PolicyDropNewest Policy = iota
	// PolicyDropOldest loses the oldest batch that is not being written yet. It
	// never blocks.
	PolicyDropOldest
	// PolicyBlock makes the operation's End wait for room. Nothing is lost while
	// the exporter makes progress; one that hangs makes the application hang until
	// Shutdown.
	PolicyBlock
)

// String returns the policy's name.
func (p Policy) String() string { return pipeline.Policy(p).String() }

// WithPolicy sets what happens if there is no room, for [NewProcessor] and [NewForwarder].
// Default: OPTRACE_POLICY, or [PolicyDropNewest].
func WithPolicy(p Policy) ProcessorOption {
	return processorOption{processors | forwarders, "WithPolicy", func(cfg *processorConfig) { cfg.policy = p }}
}

// WithBufferBytes bounds all buffers of a Processor together: in front of an [Exporter] of encoded
// entries, about 300 bytes each, in front of another exporter of spans, whose size is estimated; and
// what a [FlightRecorder] keeps. Default: OPTRACE_MAX_BYTES, or 64 MiB; 64 KiB is the least.
func WithBufferBytes(n int64) ProcessorOption {
	return processorOption{all, "WithBufferBytes", func(cfg *processorConfig) { cfg.bufferBytes = n }}
}

// WithCacheBytes bounds the memory of all caches, with which operations that repeat are encoded
// faster: that of an [Exporter] by itself, or that of a [Processor] in front of one, whose encoders
// share it. What the caches keep from being collected counts. Nothing is allocated before operations
// repeat. Default: 32 MiB for an Exporter, 64 MiB for a Processor; 0 turns the caches off.
//
// A Processor as a whole takes as much as [WithBufferBytes] and WithCacheBytes say together, and
// besides for each core some ten KiB and the operation that it encodes. Where spans are never
// ended, or end without operations, it takes what [Stats] says under Forgotten, LostParents and Unsummed.
func WithCacheBytes(n int64) CacheOption { return cacheOption(n) }

type cacheOption int64

func (o cacheOption) apply(cfg *exporterConfig) { cfg.cacheBytes = int64(o) }

func (o cacheOption) applyProcessor(cfg *processorConfig) {
	processorOption{processors | flightRecorders, "WithCacheBytes",
		func(cfg *processorConfig) { cfg.cacheBytes = int64(o) }}.applyProcessor(cfg)
}

// WithFlushInterval sets how long an operation may wait in a buffer before it goes to the exporter: a
// process that is killed may lose as much. It is for [NewProcessor] and [NewForwarder]. Default:
// OPTRACE_FLUSH_INTERVAL, or 1 s.
func WithFlushInterval(d time.Duration) ProcessorOption {
	return processorOption{processors | forwarders, "WithFlushInterval", func(cfg *processorConfig) { cfg.flushInterval = d }}
}

// WithExportTimeout bounds one export. Default: OPTRACE_EXPORT_TIMEOUT, or 30 s.
func WithExportTimeout(d time.Duration) ProcessorOption {
	return processorOption{all, "WithExportTimeout", func(cfg *processorConfig) { cfg.exportTimeout = d }}
}

// WithRecordOnly makes the Processor take spans that are recorded but not sampled too. With
// sdktrace.AlwaysRecord around the sampler that gives profiles of all operations at any sampling
// rate. What an Exporter records then has no adjusted counts. Default: sampled spans only, or for
// [NewProcessor] and [NewFlightRecorder] what OPTRACE_RECORD_ONLY says; the Processor of [Setup] has it.
func WithRecordOnly() ProcessorOption {
	return processorOption{all, "WithRecordOnly", func(cfg *processorConfig) { cfg.recordOnly = true }}
}

// WithFilter makes the Processor leave out the spans for which keep returns false; they count as
// skipped. keep is called on the goroutine that ended the span, and must be safe for concurrent
// use. For operations of a [Recorder] a span is made for it, which allocates. Nil keeps all.
func WithFilter(keep func(sdktrace.ReadOnlySpan) bool) ProcessorOption {
	return processorOption{all, "WithFilter", func(cfg *processorConfig) { cfg.filter = keep }}
}

// WithForwardThreshold does not forward operations that took less than d and have no error and no
// children: a request may have many thousand. The local root above them carries an event
// "tensor.ops.pruned" for each operation and device, with their number and the sum of their
// durations. It is for [NewForwarder]. Default: OPTRACE_FORWARD_THRESHOLD, or 0, all are forwarded.
func WithForwardThreshold(d time.Duration) ProcessorOption {
	return processorOption{forwarders, "WithForwardThreshold", func(cfg *processorConfig) { cfg.forwardThreshold = d }}
}

// WithForwardSampling forwards the given share of the operations below the threshold of
// [WithForwardThreshold] all the same, chosen by their span id; they are not part of the summary.
// It is for [NewForwarder]. Default: OPTRACE_FORWARD_SAMPLING, or 0.
func WithForwardSampling(ratio float64) ProcessorOption {
	return processorOption{forwarders, "WithForwardSampling", func(cfg *processorConfig) { cfg.forwardRatio = ratio }}
}

// WithDumpOnError makes an operation that fails request a dump of a [FlightRecorder].
func WithDumpOnError() ProcessorOption {
	return processorOption{flightRecorders, "WithDumpOnError", func(cfg *processorConfig) { cfg.dumpOnError = true }}
}

// WithDumpOnSlow makes a local root span, such as a request or a training step, that takes d or
// longer request a dump of a [FlightRecorder]. Default: 0, none does.
func WithDumpOnSlow(d time.Duration) ProcessorOption {
	return processorOption{flightRecorders, "WithDumpOnSlow", func(cfg *processorConfig) { cfg.dumpOnSlow = d }}
}

// WithDumpOnSignal makes the given signals request a dump of a [FlightRecorder]. They
// then do not have their default effect on the process.
func WithDumpOnSignal(signals ...os.Signal) ProcessorOption {
	signals = slices.Clone(signals)
	return processorOption{flightRecorders, "WithDumpOnSignal", func(cfg *processorConfig) { cfg.dumpSignals = signals }}
}
