package optrace

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/internal/env"
	"github.com/optrace/optrace/internal/pipeline"
	"github.com/optrace/optrace/internal/shapes"
)

// ProcessorOption configures a [Processor] in front of an [Exporter].
type ProcessorOption interface {
	applyProcessor(*processorConfig)
}

// ForwarderOption configures a [Processor] in front of any other exporter, see
// [NewForwarder].
type ForwarderOption interface {
	applyForwarder(*processorConfig)
}

// BufferOption configures a [Processor] in front of any exporter.
type BufferOption interface {
	ProcessorOption
	ForwarderOption
}

// RecordingOption configures a [Processor] or a [FlightRecorder].
type RecordingOption interface {
	BufferOption
	FlightOption
}

// CacheOption configures an [Exporter], a [Processor] in front of it, or a
// [FlightRecorder].
type CacheOption interface {
	ExporterOption
	ProcessorOption
	FlightOption
}

type processorConfig struct {
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

// newProcessorConfig applies the environment, as far as variables say, to the
// defaults.
func newProcessorConfig(variables ...[]env.Variable[processorConfig]) processorConfig {
	cfg := processorConfig{
		bufferBytes:   64 << 20,
		cacheBytes:    64 << 20,
		flushInterval: time.Second,
		exportTimeout: 30 * time.Second,
	}
	for _, v := range variables {
		cfg = env.Apply(cfg, v)
	}
	return cfg
}

func (cfg processorConfig) validate() error {
	var errs []error
	if cfg.policy > PolicyBlock {
		errs = append(errs, fmt.Errorf("unknown policy %d", cfg.policy))
	}
	if cfg.bufferBytes < pipeline.MinMaxBytes {
		errs = append(errs, fmt.Errorf("a bound of %d bytes is below %d", cfg.bufferBytes, pipeline.MinMaxBytes))
	}
	if cfg.cacheBytes < 0 {
		errs = append(errs, fmt.Errorf("cache size %d is negative", cfg.cacheBytes))
	}
	if cfg.flushInterval <= 0 {
		errs = append(errs, fmt.Errorf("flush interval %v is not positive", cfg.flushInterval))
	}
	if cfg.exportTimeout <= 0 {
		errs = append(errs, fmt.Errorf("export timeout %v is not positive", cfg.exportTimeout))
	}
	if cfg.forwardThreshold < 0 {
		errs = append(errs, fmt.Errorf("forwarding threshold %v is negative", cfg.forwardThreshold))
	}
	if !(cfg.forwardRatio >= 0 && cfg.forwardRatio <= 1) {
		errs = append(errs, fmt.Errorf("forwarding ratio %v is not between 0 and 1", cfg.forwardRatio))
	}
	return errors.Join(errs...)
}

// pipeline returns the configuration of a buffered pipeline or a queue.
func (cfg processorConfig) pipeline() pipeline.Config {
	return pipeline.Config{
		Policy: pipeline.Policy(cfg.policy), MaxBytes: cfg.bufferBytes,
		FlushInterval: cfg.flushInterval, ExportTimeout: cfg.exportTimeout, CacheBytes: cfg.encoderBytes(),
	}
}

// shapeBytes and encoderBytes are the parts of the caches' memory for the shapes of
// operations of Recorders, and for encoders.
func (cfg processorConfig) shapeBytes() int   { return min(shapes.DefaultBytes, int(cfg.cacheBytes/5)) }
func (cfg processorConfig) encoderBytes() int { return int(cfg.cacheBytes) - cfg.shapeBytes() }

type forwarderOption func(*processorConfig)

func (o forwarderOption) applyForwarder(cfg *processorConfig) { o(cfg) }

type bufferOption struct{ forwarderOption }

func (o bufferOption) applyProcessor(cfg *processorConfig) { o.forwarderOption(cfg) }

type recordingOption struct{ bufferOption }

func (o recordingOption) applyFlight(cfg *processorConfig) { o.forwarderOption(cfg) }

func newBufferOption(set func(*processorConfig)) BufferOption { return bufferOption{set} }

func newRecordingOption(set func(*processorConfig)) RecordingOption {
	return recordingOption{bufferOption{set}}
}

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

// WithPolicy sets what happens if there is no room. Default: OPTRACE_POLICY, or
// [PolicyDropNewest]; an unknown policy is an error.
func WithPolicy(p Policy) BufferOption {
	return newBufferOption(func(cfg *processorConfig) { cfg.policy = p })
}

// WithBufferBytes bounds all buffers of a Processor together, in bytes: in front
// of an [Exporter] of encoded entries, about 300 bytes each, in front of another
// exporter of spans, whose size is estimated; and what a [FlightRecorder] keeps.
// Default: OPTRACE_MAX_BYTES, or 64 MiB; less than 64 KiB is an error.
func WithBufferBytes(n int64) RecordingOption {
	return newRecordingOption(func(cfg *processorConfig) { cfg.bufferBytes = n })
}

// WithCacheBytes bounds the memory of all caches: of attribute sets and their
// encodings, with which operations that repeat are encoded faster, and of texts,
// shapes and scopes. It is that of an [Exporter] by itself, or that of a [Processor]
// in front of one, which has an encoder for each core: they share it. What the caches
// keep from being collected counts, such as lists of the application. Nothing is
// allocated before operations repeat. Default: 32 MiB for an Exporter, 64 MiB for a
// Processor; 0 turns the caches off, a negative size is an error.
//
// A Processor as a whole takes as much as [WithBufferBytes] and WithCacheBytes say
// together, and besides for each core some ten KiB and the operation that it encodes.
// Where spans are never ended, it takes what [Stats] says under Forgotten and
// Unsummed.
func WithCacheBytes(n int64) CacheOption { return cacheOption(n) }

type cacheOption int64

func (o cacheOption) applyProcessor(cfg *processorConfig) { cfg.cacheBytes = int64(o) }
func (o cacheOption) applyFlight(cfg *processorConfig)    { cfg.cacheBytes = int64(o) }

func (o cacheOption) applyExporter(cfg exporterConfig) exporterConfig {
	cfg.cacheBytes = int64(o)
	return cfg
}

func (o cacheOption) applyFileExporter(cfg exporterConfig) exporterConfig {
	return o.applyExporter(cfg)
}

// WithFlushInterval sets how long an operation may wait in a buffer before it
// goes to the exporter: a process that is killed may lose as much. Default:
// OPTRACE_FLUSH_INTERVAL, or 1 s; it must be positive.
func WithFlushInterval(d time.Duration) BufferOption {
	return newBufferOption(func(cfg *processorConfig) { cfg.flushInterval = d })
}

// WithExportTimeout bounds one export. Default: OPTRACE_EXPORT_TIMEOUT, or 30 s;
// it must be positive.
func WithExportTimeout(d time.Duration) RecordingOption {
	return newRecordingOption(func(cfg *processorConfig) { cfg.exportTimeout = d })
}

// WithRecordOnly makes the Processor take spans that are recorded but not
// sampled too. Together with sdktrace.AlwaysRecord around the sampler that
// gives profiles of all operations at any sampling rate, while the other
// processors export the sampled traces only. Default: OPTRACE_RECORD_ONLY, or
// sampled spans only.
func WithRecordOnly() RecordingOption {
	return newRecordingOption(func(cfg *processorConfig) { cfg.recordOnly = true })
}

// WithFilter makes the Processor leave out the spans for which keep returns
// false; they count as skipped. keep is called when a span has ended, on the
// goroutine that ended it, and must be safe for concurrent use. For operations of
// a [Recorder] a span is made so that keep can be called, which allocates. Nil
// keeps all, which is the default.
func WithFilter(keep func(sdktrace.ReadOnlySpan) bool) RecordingOption {
	return newRecordingOption(func(cfg *processorConfig) { cfg.filter = keep })
}

// WithForwardThreshold does not forward operations that took less than d: a
// request may have many thousand. Only operations without an error and without
// children are left out. The local root above them carries an event
// "tensor.ops.pruned" for each operation and device, with their number and the sum
// of their durations. Spans that are no operations are always forwarded. Default:
// OPTRACE_FORWARD_THRESHOLD, or 0, all are forwarded; it must not be negative.
func WithForwardThreshold(d time.Duration) ForwarderOption {
	return forwarderOption(func(cfg *processorConfig) { cfg.forwardThreshold = d })
}

// WithForwardSampling forwards the given share of the operations below the
// threshold of [WithForwardThreshold] all the same, chosen by their span id, as
// examples. They are not part of the summary. Default: OPTRACE_FORWARD_SAMPLING,
// or 0; it must be between 0 and 1.
func WithForwardSampling(ratio float64) ForwarderOption {
	return forwarderOption(func(cfg *processorConfig) { cfg.forwardRatio = ratio })
}

// The variables that set defaults: of everything in front of an exporter, of what
// has buffers or a queue, and of forwarders.
var (
	recordingVariables = []env.Variable[processorConfig]{
		{Name: "OPTRACE_MAX_BYTES", Set: func(cfg *processorConfig, v string) error {
			return env.Int(&cfg.bufferBytes, v, pipeline.MinMaxBytes)
		}},
		{Name: "OPTRACE_EXPORT_TIMEOUT", Set: func(cfg *processorConfig, v string) error {
			return env.Duration(&cfg.exportTimeout, v, 1)
		}},
		{Name: "OPTRACE_RECORD_ONLY", Set: func(cfg *processorConfig, v string) (err error) {
			return env.Bool(&cfg.recordOnly, v)
		}},
	}
	bufferVariables = []env.Variable[processorConfig]{
		{Name: "OPTRACE_POLICY", Set: func(cfg *processorConfig, v string) (err error) {
			cfg.policy, err = env.OneOf(v, PolicyDropNewest, PolicyDropOldest, PolicyBlock)
			return err
		}},
		{Name: "OPTRACE_FLUSH_INTERVAL", Set: func(cfg *processorConfig, v string) error {
			return env.Duration(&cfg.flushInterval, v, 1)
		}},
	}
	forwardVariables = []env.Variable[processorConfig]{
		{Name: "OPTRACE_FORWARD_THRESHOLD", Set: func(cfg *processorConfig, v string) error {
			return env.Duration(&cfg.forwardThreshold, v, 0)
		}},
		{Name: "OPTRACE_FORWARD_SAMPLING", Set: func(cfg *processorConfig, v string) error {
			ratio, err := strconv.ParseFloat(v, 64)
			if err != nil || !(ratio >= 0 && ratio <= 1) {
				return errors.New("want a number between 0 and 1")
			}
			cfg.forwardRatio = ratio
			return nil
		}},
	}
)
