package optrace

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/deviceclock"
	"github.com/optrace/optrace/internal/record/env"
	"github.com/optrace/optrace/internal/record/pipeline"
	"github.com/optrace/optrace/internal/record/shapes"
)

// ProcessorOption configures a [Processor] or a [Queue]. Each option lists its constructors; the other constructors
// return an error for it.
type ProcessorOption interface{ applyProcessor(*processorConfig) }

// role is a constructor.
type role uint8

const (
	processors role = 1 << iota
	forwarders
	flightRecorders
	queues
	allProcessors = processors | forwarders | flightRecorders
)

func (r role) String() string {
	return map[role]string{
		processors: "processor", forwarders: "forwarder", flightRecorders: "flight recorder", queues: "queue",
	}[r]
}

// processorOption is an option of several roles.
type processorOption struct {
	of   role
	name string
	set  func(*processorConfig)
}

func (o processorOption) applyProcessor(cfg *processorConfig) {
	cfg.wrong.Add(o.of&cfg.role == 0, "%s is not for a %v", o.name, cfg.role)
	if o.of&cfg.role != 0 {
		o.set(cfg)
	}
}

type processorConfig struct {
	role  role
	wrong env.Faults // options for other roles

	policy                       Policy
	maxBytes, cacheBytes         int64
	flushInterval, exportTimeout time.Duration
	recordOnly                   bool
	filter                       func(sdktrace.ReadOnlySpan) bool

	forwardThreshold time.Duration
	forwardRatio     float64

	dumpOnError bool
	dumpOnSlow  time.Duration
	dumpSignals []os.Signal

	queueSize    int
	eventTimeout time.Duration
	clock        *deviceclock.Clock
	readClock    func() (int64, error)
	readEvery    time.Duration
}

// newProcessorConfig applies the environment and then opts to the defaults.
func newProcessorConfig(r role, opts []ProcessorOption) (processorConfig, error) {
	cfg := processorConfig{
		role:          r,
		maxBytes:      64 << 20,
		cacheBytes:    64 << 20,
		flushInterval: time.Second,
		exportTimeout: 30 * time.Second,
		queueSize:     4096,
		eventTimeout:  time.Minute,
	}
	cfg.readEnvironment()
	apply(&cfg, opts, ProcessorOption.applyProcessor)
	if err := cfg.validate(); err != nil {
		return cfg, fmt.Errorf("optrace: new %v: %w", r, err)
	}
	return cfg, nil
}

// readEnvironment applies the environment variables for the role. Queues have no variables.
func (cfg *processorConfig) readEnvironment() {
	if cfg.role == queues {
		return
	}
	env.Int("OPTRACE_MAX_BYTES", &cfg.maxBytes, pipeline.MinMaxBytes)
	env.Duration("OPTRACE_EXPORT_TIMEOUT", &cfg.exportTimeout, 1)
	env.Bool("OPTRACE_RECORD_ONLY", &cfg.recordOnly)
	if cfg.role == forwarders { // only code makes a forwarder send unsampled spans
		cfg.recordOnly = false
	}
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
	wrong.Add(cfg.policy > PolicyBlock, "unknown policy %d", cfg.policy)
	const least = pipeline.MinMaxBytes
	wrong.Add(cfg.maxBytes < least, "a bound of %d bytes is below %d", cfg.maxBytes, least)
	wrong.Add(cfg.cacheBytes < 0, "cache size %d is negative", cfg.cacheBytes)
	wrong.Add(cfg.flushInterval <= 0, "flush interval %v is not positive", cfg.flushInterval)
	wrong.Add(cfg.exportTimeout <= 0, "export timeout %v is not positive", cfg.exportTimeout)
	wrong.Add(cfg.forwardThreshold < 0, "forwarding threshold %v is negative", cfg.forwardThreshold)
	isRatio := cfg.forwardRatio >= 0 && cfg.forwardRatio <= 1
	wrong.Add(!isRatio, "forwarding ratio %v is not between 0 and 1", cfg.forwardRatio)
	wrong.Add(cfg.dumpOnSlow < 0, "duration %v of slow local roots is negative", cfg.dumpOnSlow)
	wrong.Add(cfg.queueSize < 1, "a size of %d is not positive", cfg.queueSize)
	wrong.Add(cfg.eventTimeout <= 0, "event timeout %v is not positive", cfg.eventTimeout)
	isRead := cfg.readClock != nil && cfg.readEvery > 0
	wrong.Add(cfg.clock != nil && !isRead, "the device clock is never read")
	return errors.Join(wrong...)
}

// pipeline returns the configuration of a pipeline.
func (cfg processorConfig) pipeline() pipeline.Config {
	return pipeline.Config{
		Policy: pipeline.Policy(cfg.policy), MaxBytes: cfg.maxBytes, CacheBytes: int(cfg.cacheBytes) - cfg.shapeBytes(),
		FlushInterval: cfg.flushInterval, ExportTimeout: cfg.exportTimeout,
		OnError: cfg.dumpOnError, OnSlow: cfg.dumpOnSlow, Signals: cfg.dumpSignals,
	}
}

// shapeBytes is the memory of the caches of Recorders; encoders have the rest.
func (cfg processorConfig) shapeBytes() int { return min(shapes.DefaultBytes, int(cfg.cacheBytes/5)) }

// Policy decides about an operation without room in a full buffer.
type Policy uint8

// The policies. Each counts every lost operation.
const (
	// PolicyDropNewest drops the new operation. It never blocks.
	PolicyDropNewest Policy = iota
	// PolicyDropOldest drops the oldest batch that is not being written, or the oldest operation in a [Queue]. It never
	// blocks.
	PolicyDropOldest
	// PolicyBlock makes the operation's End wait for room, and Launched of a [Queue]. It loses no operation while the
	// exporter makes progress. An exporter that hangs blocks the application until Shutdown.
	PolicyBlock
)

// String returns the policy's name.
func (p Policy) String() string { return pipeline.Policy(p).String() }

// WithPolicy sets the policy of a full buffer, for [NewProcessor], [NewForwarder] and [NewQueue]. Default:
// [PolicyDropNewest], or OPTRACE_POLICY except for queues.
func WithPolicy(p Policy) ProcessorOption {
	return processorOption{
		processors | forwarders | queues, "WithPolicy", func(cfg *processorConfig) { cfg.policy = p },
	}
}

// WithMaxBytes bounds all buffers of a Processor together: encoded entries of about 300 bytes in front of an
// [Exporter], spans of estimated size in a forwarder, the operations of a flight recorder. The minimum is 64 KiB.
// Default: OPTRACE_MAX_BYTES, or 64 MiB.
func WithMaxBytes(n int64) ProcessorOption {
	return processorOption{allProcessors, "WithMaxBytes", func(cfg *processorConfig) { cfg.maxBytes = n }}
}

// WithCacheBytes bounds the caches for repeated operations: the cache of an [Exporter] used without a Processor, or the
// caches of a [Processor] in front of one, shared by its encoders. The bound includes memory that the caches keep
// alive. They allocate only when operations repeat. 0 turns them off. Default: 32 MiB for an Exporter, 64 MiB for a
// Processor.
//
// A Processor takes at most [WithMaxBytes] plus WithCacheBytes, and for each core some ten KiB and the operation being
// encoded. Spans without an end or without operations take the memory listed for EvictedSpans, LostParents and
// Unsummarized in [Stats].
func WithCacheBytes(n int64) interface {
	ExporterOption
	ProcessorOption
} {
	return cacheOption(n)
}

type cacheOption int64

func (o cacheOption) apply(cfg *exporterConfig) { cfg.cacheBytes = int64(o) }

func (o cacheOption) applyProcessor(cfg *processorConfig) {
	set := func(cfg *processorConfig) { cfg.cacheBytes = int64(o) }
	processorOption{processors | flightRecorders, "WithCacheBytes", set}.applyProcessor(cfg)
}

// WithFlushInterval sets the longest time of an operation in a buffer before it goes to the exporter. A killed process
// may lose the operations of this time. It is for [NewProcessor] and [NewForwarder]. Default: OPTRACE_FLUSH_INTERVAL,
// or 1 s.
func WithFlushInterval(d time.Duration) ProcessorOption {
	set := func(cfg *processorConfig) { cfg.flushInterval = d }
	return processorOption{processors | forwarders, "WithFlushInterval", set}
}

// WithExportTimeout bounds one export. Default: OPTRACE_EXPORT_TIMEOUT, or 30 s.
func WithExportTimeout(d time.Duration) ProcessorOption {
	return processorOption{allProcessors, "WithExportTimeout", func(cfg *processorConfig) { cfg.exportTimeout = d }}
}

// WithRecordOnly makes the Processor take unsampled spans that are recorded. With sdktrace.AlwaysRecord around the
// sampler it takes all operations at any sampling rate. Its entries have no adjusted counts. Default: sampled spans
// only, or OPTRACE_RECORD_ONLY for [NewProcessor] and [NewFlightRecorder]. The Processor of [Setup] has the option.
func WithRecordOnly() ProcessorOption {
	return processorOption{allProcessors, "WithRecordOnly", func(cfg *processorConfig) { cfg.recordOnly = true }}
}

// WithFilter makes the Processor skip a span if keep returns false. OnEnd calls keep, concurrently. Operations of a
// [Recorder] become spans for keep, at the cost of allocations. A nil keep keeps all spans.
func WithFilter(keep func(sdktrace.ReadOnlySpan) bool) ProcessorOption {
	return processorOption{allProcessors, "WithFilter", func(cfg *processorConfig) { cfg.filter = keep }}
}

// WithForwardThreshold leaves out operations shorter than d without an error and children, because a request may have
// many thousands. The local root above them gets an event "tensor.ops.pruned" for each operation and device, with their
// number and the sum of their durations. It is for [NewForwarder]. Default: OPTRACE_FORWARD_THRESHOLD, or 0 to forward
// all operations.
func WithForwardThreshold(d time.Duration) ProcessorOption {
	return processorOption{forwarders, "WithForwardThreshold", func(cfg *processorConfig) { cfg.forwardThreshold = d }}
}

// WithForwardSampling forwards the given share, 0 to 1, of the operations below the threshold of
// [WithForwardThreshold], chosen by span id, instead of counting them in the events. It is for [NewForwarder]. Default:
// OPTRACE_FORWARD_SAMPLING, or 0.
func WithForwardSampling(ratio float64) ProcessorOption {
	return processorOption{forwarders, "WithForwardSampling", func(cfg *processorConfig) { cfg.forwardRatio = ratio }}
}

// WithDumpOnError requests a dump after each failed operation. It is for [NewFlightRecorder].
func WithDumpOnError() ProcessorOption {
	return processorOption{flightRecorders, "WithDumpOnError", func(cfg *processorConfig) { cfg.dumpOnError = true }}
}

// WithDumpOnSlow requests a dump after each local root span, such as a request or a training step, of d or longer. It
// is for [NewFlightRecorder]. Default: 0, no dump.
func WithDumpOnSlow(d time.Duration) ProcessorOption {
	return processorOption{flightRecorders, "WithDumpOnSlow", func(cfg *processorConfig) { cfg.dumpOnSlow = d }}
}

// WithDumpOnSignal requests a dump on each of the signals and removes their default effect. It is for
// [NewFlightRecorder].
func WithDumpOnSignal(signals ...os.Signal) ProcessorOption {
	signals = slices.Clone(signals)
	set := func(cfg *processorConfig) { cfg.dumpSignals = signals }
	return processorOption{flightRecorders, "WithDumpOnSignal", set}
}

// WithQueueSize bounds the waiting operations of one stream in a [Queue]. It is for [NewQueue]. Default: 4096.
func WithQueueSize(n int) ProcessorOption {
	return processorOption{queues, "WithQueueSize", func(cfg *processorConfig) { cfg.queueSize = n }}
}

// WithEventTimeout sets the longest wait of a [Queue] for the events of an operation. It is for [NewQueue]. Default:
// one minute.
func WithEventTimeout(d time.Duration) ProcessorOption {
	return processorOption{queues, "WithEventTimeout", func(cfg *processorConfig) { cfg.eventTimeout = d }}
}

// WithDeviceClock makes a [Queue] convert times of events with clock. Poll reads the device's clock with read if the
// last reading is older than every, such as a tenth of a second. An operation waits for a reading after its end. Its
// attribute tensor.clock.error is the largest possible error of its times, rounded up to 1, 2 or 5 times a power of
// ten. It is for [NewQueue].
func WithDeviceClock(clock *deviceclock.Clock, every time.Duration, read func() (int64, error)) ProcessorOption {
	return processorOption{queues, "WithDeviceClock", func(cfg *processorConfig) {
		cfg.clock = clock
		cfg.readEvery = every
		cfg.readClock = read
	}}
}
