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
)

// ProcessorOption configures a [Processor].
type ProcessorOption interface {
	applyProcessor(processorConfig) processorConfig
}

// Policy says what a Processor does with an operation for which there is no
// room because the exporter does not keep up.
type Policy uint8

// The policies. Under each of them every lost operation is counted.
const (
	// DropNewest loses the operation that just ended. It never blocks.
	DropNewest Policy = iota
	// DropOldest loses the oldest batch that is not being written yet. It never
	// blocks.
	DropOldest
	// Block makes the operation's End wait for room. Nothing is lost while the
	// exporter makes progress; one that hangs makes the application hang until
	// Shutdown.
	Block
)

// String returns the policy's name.
func (p Policy) String() string { return pipeline.Policy(p).String() }

type processorConfig struct {
	policy        Policy
	maxBytes      int64
	flushInterval time.Duration
	exportTimeout time.Duration
	recordOnly    bool
	filter        func(sdktrace.ReadOnlySpan) bool

	forwardThreshold time.Duration
	forwardRatio     float64

	flightEntries int // 0: no flight recorder
	dumpOnError   bool
	dumpOnSlow    time.Duration
	dumpSignals   []os.Signal
}

// The defaults of a Processor.
const (
	defaultMaxBytes      = 64 << 20
	defaultFlushInterval = time.Second
	defaultExportTimeout = 30 * time.Second
	defaultCacheBytes    = 64 << 20
)

// newProcessorConfig applies the environment and then opts to the defaults. Nil
// options are ignored.
func newProcessorConfig(opts []ProcessorOption) (processorConfig, error) {
	cfg := processorConfig{
		maxBytes:      defaultMaxBytes,
		flushInterval: defaultFlushInterval,
		exportTimeout: defaultExportTimeout,
	}
	cfg = env.Apply(cfg, processorVariables)
	for _, o := range opts {
		if o != nil {
			cfg = o.applyProcessor(cfg)
		}
	}
	var errs []error
	if cfg.policy > Block {
		errs = append(errs, fmt.Errorf("unknown policy %d", cfg.policy))
	}
	if cfg.maxBytes < pipeline.MinMaxBytes {
		errs = append(errs, fmt.Errorf("a bound of %d bytes is below %d", cfg.maxBytes, pipeline.MinMaxBytes))
	}
	if cfg.flushInterval <= 0 {
		errs = append(errs, fmt.Errorf("a flush interval of %v is not positive", cfg.flushInterval))
	}
	if cfg.exportTimeout <= 0 {
		errs = append(errs, fmt.Errorf("an export timeout of %v is not positive", cfg.exportTimeout))
	}
	if cfg.forwardThreshold < 0 {
		errs = append(errs, fmt.Errorf("a forwarding threshold of %v is negative", cfg.forwardThreshold))
	}
	if !(cfg.forwardRatio >= 0 && cfg.forwardRatio <= 1) {
		errs = append(errs, fmt.Errorf("a forwarding ratio of %v is not between 0 and 1", cfg.forwardRatio))
	}
	if cfg.flightEntries < 0 {
		errs = append(errs, fmt.Errorf("flight recorder size %d is negative", cfg.flightEntries))
	}
	if cfg.flightEntries == 0 && (cfg.dumpOnError || cfg.dumpOnSlow != 0 || cfg.dumpSignals != nil) {
		errs = append(errs, errors.New("dumps need WithFlightRecorder"))
	}
	if err := errors.Join(errs...); err != nil {
		return cfg, fmt.Errorf("optrace: new processor: %w", err)
	}
	return cfg, nil
}

// pipeline returns the configuration of a buffered pipeline or a queue.
func (cfg processorConfig) pipeline() pipeline.Config {
	return pipeline.Config{
		Policy: pipeline.Policy(cfg.policy), MaxBytes: cfg.maxBytes,
		FlushInterval: cfg.flushInterval, ExportTimeout: cfg.exportTimeout, CacheBytes: defaultCacheBytes,
	}
}

// flight returns the configuration of a flight recorder.
func (cfg processorConfig) flight() pipeline.FlightConfig {
	return pipeline.FlightConfig{
		Entries: cfg.flightEntries, OnError: cfg.dumpOnError, OnSlow: cfg.dumpOnSlow, Signals: cfg.dumpSignals,
		ExportTimeout: cfg.exportTimeout, CacheBytes: defaultCacheBytes,
	}
}

type processorOption func(processorConfig) processorConfig

func (o processorOption) applyProcessor(cfg processorConfig) processorConfig { return o(cfg) }

// WithPolicy sets what happens where there is no room. Default: [DropNewest].
func WithPolicy(p Policy) ProcessorOption {
	return processorOption(func(cfg processorConfig) processorConfig {
		cfg.policy = p
		return cfg
	})
}

// WithMaxBytes bounds all buffers of a Processor together, in bytes. With an
// [Exporter] behind it these are encoded entries, about 300 bytes each; with
// another exporter they are spans, whose size is estimated. Default: 64 MiB;
// less than 64 KiB is an error.
func WithMaxBytes(n int64) ProcessorOption {
	return processorOption(func(cfg processorConfig) processorConfig {
		cfg.maxBytes = n
		return cfg
	})
}

// WithFlushInterval sets how long an operation may wait in a buffer before it
// goes to the exporter: what a process that is killed may lose. Default: 1 s;
// it must be positive.
func WithFlushInterval(d time.Duration) ProcessorOption {
	return processorOption(func(cfg processorConfig) processorConfig {
		cfg.flushInterval = d
		return cfg
	})
}

// WithExportTimeout bounds one export. Default: 30 s; it must be positive.
func WithExportTimeout(d time.Duration) ProcessorOption {
	return processorOption(func(cfg processorConfig) processorConfig {
		cfg.exportTimeout = d
		return cfg
	})
}

// WithRecordOnly makes the Processor take spans that are recorded but not
// sampled too. Together with sdktrace.AlwaysRecord around the sampler that
// gives profiles of all operations at any sampling rate, while the other
// processors export the sampled traces only. Default: sampled spans only.
func WithRecordOnly() ProcessorOption {
	return processorOption(func(cfg processorConfig) processorConfig {
		cfg.recordOnly = true
		return cfg
	})
}

// WithFilter makes the Processor leave out the spans for which keep returns
// false; they count as skipped. keep is called when a span has ended, on the
// goroutine that ended it, and must be safe for concurrent use. Nil keeps all,
// which is the default.
func WithFilter(keep func(sdktrace.ReadOnlySpan) bool) ProcessorOption {
	return processorOption(func(cfg processorConfig) processorConfig {
		cfg.filter = keep
		return cfg
	})
}

// WithForwardThreshold keeps operations that took less than d away from an
// exporter of spans, such as an OTLP exporter: a request may have many
// thousand. Only operations without an error and without children are left
// out. The local root above them carries an event [EventPruned] for each
// operation and device, with their number and the sum of their durations.
// Spans that are no operations are always forwarded. It has no effect on an
// [Exporter], which is to hold everything. Default: 0, all are forwarded.
func WithForwardThreshold(d time.Duration) ProcessorOption {
	return processorOption(func(cfg processorConfig) processorConfig {
		cfg.forwardThreshold = d
		return cfg
	})
}

// WithForwardSampling forwards the given share of the operations below the
// threshold of [WithForwardThreshold] all the same, chosen by their span id, so
// that there are examples of them. They are not part of the summary. Default: 0.
func WithForwardSampling(ratio float64) ProcessorOption {
	return processorOption(func(cfg processorConfig) processorConfig {
		cfg.forwardRatio = ratio
		return cfg
	})
}

// WithFlightRecorder makes the Processor keep the last n operations in memory,
// with the spans above them, and write nothing until a dump is called for: by
// [Processor.Dump], or by what the other options of this kind name. A dump
// writes what there is and begins anew. Operations that fall out count as
// dropped, and those that nothing called for at Shutdown. It needs an
// [Exporter]. Default: 0, everything is written.
func WithFlightRecorder(n int) ProcessorOption {
	return processorOption(func(cfg processorConfig) processorConfig {
		cfg.flightEntries = n
		return cfg
	})
}

// WithDumpOnError makes an operation that fails call for a dump.
func WithDumpOnError() ProcessorOption {
	return processorOption(func(cfg processorConfig) processorConfig {
		cfg.dumpOnError = true
		return cfg
	})
}

// WithDumpOnSlow makes a local root span, such as a request or a training
// step, that takes d or longer call for a dump.
func WithDumpOnSlow(d time.Duration) ProcessorOption {
	return processorOption(func(cfg processorConfig) processorConfig {
		cfg.dumpOnSlow = d
		return cfg
	})
}

// WithDumpOnSignal makes the given signals call for a dump. They then no
// longer have their default effect on the process.
func WithDumpOnSignal(signals ...os.Signal) ProcessorOption {
	return processorOption(func(cfg processorConfig) processorConfig {
		cfg.dumpSignals = append([]os.Signal(nil), signals...)
		return cfg
	})
}

// processorVariables set the defaults of a Processor.
var processorVariables = []env.Variable[processorConfig]{
	{Name: "OPTRACE_POLICY", Set: func(cfg *processorConfig, v string) (err error) {
		cfg.policy, err = env.OneOf(v, DropNewest, DropOldest, Block)
		return err
	}},
	{Name: "OPTRACE_MAX_BYTES", Set: func(cfg *processorConfig, v string) error {
		return env.Int(&cfg.maxBytes, v, pipeline.MinMaxBytes)
	}},
	{Name: "OPTRACE_FLUSH_INTERVAL", Set: func(cfg *processorConfig, v string) error {
		return env.Duration(&cfg.flushInterval, v, 1)
	}},
	{Name: "OPTRACE_EXPORT_TIMEOUT", Set: func(cfg *processorConfig, v string) error {
		return env.Duration(&cfg.exportTimeout, v, 1)
	}},
	{Name: "OPTRACE_RECORD_ONLY", Set: func(cfg *processorConfig, v string) (err error) {
		return env.Bool(&cfg.recordOnly, v)
	}},
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
