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

// configFile is the standard variable with the path of the declarative configuration.
const configFile = "OTEL_CONFIG_FILE"

// NewSDK makes an SDK from a declarative configuration in YAML, as [otelconf.NewSDK] does, and records operations if
// "distribution" has "optrace", which may be empty. The file named by OTEL_CONFIG_FILE replaces text, which may then be
// nil. The caller shuts the SDK down.
//
// If the SDK or OPTRACE_DISABLED disables recording, NewSDK records no operations. It returns an error if the section
// is present and "tracer_provider" is not. Environment variables of optrace and defaults supply missing settings.
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
	if !fromFile { // otelconf reads the file itself
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

// newProcessor returns the processor of a configuration, or nil if it records no operations.
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

// settings are the contents of the section, named like the environment variables. Zero values are not set.
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
		named(&exporter, "format", s.Format, optrace.WithFormat,
			optrace.FormatEntries, optrace.FormatOTLPJSON, optrace.FormatOTLPProto),
		named(&exporter, "compression", s.Compression, optrace.WithCompression,
			optrace.CompressionNone, optrace.CompressionGzip, optrace.CompressionZstd),
		named(&processor, "policy", s.Policy, optrace.WithPolicy,
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

// named appends the option for the choice named text to opts, unless text is empty.
func named[O any, T fmt.Stringer](opts *[]O, key, text string, with func(T) O, choices ...T) error {
	if text == "" {
		return nil
	}
	choice, err := env.OneOf(text, choices...)
	if err != nil {
		return fmt.Errorf("%s: %q is none of %v", key, text, choices)
	}
	*opts = append(*opts, with(choice))
	return nil
}
