package autoexport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/contrib/otelconf"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/record/env"
	"github.com/optrace/optrace/internal/release"
)

const _ = release.ModulesMustBeOfOneReleaseV0_3_0

// configFile names the file of the declarative configuration, for all languages.
const configFile = "OTEL_CONFIG_FILE"

// NewSDK makes an SDK of a declarative configuration in YAML, as [otelconf.NewSDK] does, and
// records operations if that asks for it. The file that OTEL_CONFIG_FILE names takes the
// place of text, which may then be nil. End the SDK by its Shutdown.
//
// Operations are recorded where "distribution" has "optrace", which may be empty, unless the
// SDK or OPTRACE_DISABLED says that nothing is. It is an error if there is no
// "tracer_provider" then. A setting that is not made follows from optrace's environment
// variables or its default.
func NewSDK(ctx context.Context, text []byte, opts ...otelconf.ConfigurationOption) (otelconf.SDK, error) {
	path, fromFile := os.LookupEnv(configFile)
	if fromFile {
		var err error
		if text, err = os.ReadFile(path); err != nil {
			return otelconf.SDK{}, err
		}
	}
	cfg, err := otelconf.ParseYAML(text)
	if err != nil {
		return otelconf.SDK{}, err
	}
	opts = append(opts, otelconf.WithContext(ctx))
	if !fromFile { // otelconf reads the file by itself
		opts = append(opts, otelconf.WithOpenTelemetryConfiguration(*cfg))
	}
	proc, err := newProcessor(text, cfg)
	if err != nil {
		return otelconf.SDK{}, err
	}
	if proc == nil {
		return otelconf.NewSDK(opts...)
	}
	sdk, err := otelconf.NewSDK(append(opts, otelconf.WithTracerProviderOptions(
		sdktrace.WithSpanProcessor(proc), sdktrace.WithRawSpanLimits(optrace.SpanLimits())))...)
	if err != nil {
		return otelconf.SDK{}, errors.Join(err, proc.Shutdown(ctx))
	}
	return sdk, nil
}

// newProcessor returns the processor that a configuration asks for, nil for none.
func newProcessor(text []byte, cfg *otelconf.OpenTelemetryConfiguration) (*optrace.Processor, error) {
	node, err := section(text)
	if err != nil || node == nil || disabled() || cfg.Disabled != nil && *cfg.Disabled {
		return nil, err
	}
	if cfg.TracerProvider == nil {
		return nil, errors.New("distribution.optrace: there is no tracer_provider that would record operations")
	}
	s := settings{File: cmp.Or(os.Getenv("OPTRACE_FILE"), defaultFile)}
	if err := node.Decode(&s); err != nil {
		return nil, fmt.Errorf("distribution.optrace: %w", err)
	}
	exporter, processor, err := s.options()
	if err != nil {
		return nil, fmt.Errorf("distribution.optrace: %w", err)
	}
	exp, err := optrace.NewFileExporter(s.File, exporter...)
	if err != nil {
		return nil, err
	}
	proc, err := optrace.NewProcessor(exp, processor...)
	if err != nil {
		return nil, errors.Join(err, exp.Shutdown(context.Background()))
	}
	return proc, nil
}

// settings are what the section says, named as the environment variables are. What is zero is not set.
type settings struct {
	File          string         `yaml:"file"`
	Format        string         `yaml:"format"`
	Compression   string         `yaml:"compression"`
	RotateBytes   int64          `yaml:"rotate_bytes"`
	MaxTotalBytes int64          `yaml:"max_total_bytes"`
	RotateAge     time.Duration  `yaml:"rotate_age"`
	Policy        string         `yaml:"policy"`
	FlushInterval time.Duration  `yaml:"flush_interval"`
	Unknown       map[string]any `yaml:",inline"`
}

func (s *settings) options() (exporter []optrace.ExporterOption, processor []optrace.ProcessorOption, err error) {
	errs := []error{
		named("format", s.Format, func(f optrace.Format) { exporter = append(exporter, optrace.WithFormat(f)) },
			optrace.FormatEntries, optrace.FormatOTLPJSON, optrace.FormatOTLPProto),
		named("compression", s.Compression, func(c optrace.Compression) { exporter = append(exporter, optrace.WithCompression(c)) },
			optrace.CompressionNone, optrace.CompressionGzip, optrace.CompressionZstd),
		named("policy", s.Policy, func(p optrace.Policy) { processor = append(processor, optrace.WithPolicy(p)) },
			optrace.PolicyDropNewest, optrace.PolicyDropOldest, optrace.PolicyBlock),
	}
	for key := range s.Unknown {
		errs = append(errs, fmt.Errorf("unknown key %q", key))
	}
	r := optrace.Rotation{MaxBytes: s.RotateBytes, MaxTotalBytes: s.MaxTotalBytes, MaxAge: s.RotateAge}
	if r != (optrace.Rotation{}) {
		exporter = append(exporter, optrace.WithRotation(r))
	}
	if s.FlushInterval != 0 {
		processor = append(processor, optrace.WithFlushInterval(s.FlushInterval))
	}
	return exporter, processor, errors.Join(errs...)
}

// named calls set with the one of several values that a text names, unless there is no text.
func named[T fmt.Stringer](key, text string, set func(T), choices ...T) error {
	if text == "" {
		return nil
	}
	choice, err := env.OneOf(text, choices...)
	if err != nil {
		return fmt.Errorf("%s: %q is none of %v", key, text, choices)
	}
	set(choice)
	return nil
}
