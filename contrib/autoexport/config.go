package autoexport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"go.opentelemetry.io/contrib/otelconf"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace"
)

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
	values, found, err := section(text)
	if err != nil || !found || disabled() || cfg.Disabled != nil && *cfg.Disabled {
		return nil, err
	}
	if cfg.TracerProvider == nil {
		return nil, errors.New("distribution.optrace: there is no tracer_provider that would record operations")
	}
	s, err := parseSettings(values)
	if err != nil {
		return nil, fmt.Errorf("distribution.optrace: %w", err)
	}
	exp, err := optrace.NewFileExporter(s.file, s.exporter...)
	if err != nil {
		return nil, err
	}
	proc, err := optrace.NewProcessor(exp, s.processor...)
	if err != nil {
		return nil, errors.Join(err, exp.Shutdown(context.Background()))
	}
	return proc, nil
}

// settings are what the section says.
type settings struct {
	file      string
	exporter  []optrace.ExporterOption
	processor []optrace.ProcessorOption
	rotation  optrace.Rotation
}

// setters are the settings that there are, named as the environment variables are.
func setters() map[string]func(s *settings, value any) error {
	return map[string]func(s *settings, value any) error{
		"file": func(s *settings, value any) (err error) {
			s.file, err = parse[string](value)
			return err
		},
		"format": func(s *settings, value any) error {
			f, err := named(value, optrace.FormatEntries, optrace.FormatOTLPJSON, optrace.FormatOTLPProto)
			s.exporter = append(s.exporter, optrace.WithFormat(f))
			return err
		},
		"compression": func(s *settings, value any) error {
			c, err := named(value, optrace.CompressionNone, optrace.CompressionGzip, optrace.CompressionZstd)
			s.exporter = append(s.exporter, optrace.WithCompression(c))
			return err
		},
		"rotate_bytes":    func(s *settings, value any) error { return setInt(&s.rotation.MaxBytes, value) },
		"max_total_bytes": func(s *settings, value any) error { return setInt(&s.rotation.MaxTotalBytes, value) },
		"rotate_age":      func(s *settings, value any) error { return setDuration(&s.rotation.MaxAge, value) },
		"policy": func(s *settings, value any) error {
			p, err := named(value, optrace.PolicyDropNewest, optrace.PolicyDropOldest, optrace.PolicyBlock)
			s.processor = append(s.processor, optrace.WithPolicy(p))
			return err
		},
		"flush_interval": func(s *settings, value any) error {
			var d time.Duration
			err := setDuration(&d, value)
			s.processor = append(s.processor, optrace.WithFlushInterval(d))
			return err
		},
	}
}

func parseSettings(values map[string]any) (settings, error) {
	s := settings{file: cmp.Or(os.Getenv("OPTRACE_FILE"), defaultFile)}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(values)) {
		set, ok := setters()[key]
		if !ok {
			errs = append(errs, fmt.Errorf("unknown key %q", key))
		} else if err := set(&s, values[key]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
	}
	if s.rotation != (optrace.Rotation{}) {
		s.exporter = append(s.exporter, optrace.WithRotation(s.rotation))
	}
	return s, errors.Join(errs...)
}

// parse returns a value of a type, or an error for any other value.
func parse[T any](value any) (T, error) {
	v, ok := value.(T)
	if !ok {
		return v, fmt.Errorf("%v is a %T, not a %T", value, value, v)
	}
	return v, nil
}

// named returns the one of several values that a text names.
func named[T fmt.Stringer](value any, choices ...T) (T, error) {
	text, err := parse[string](value)
	if err != nil {
		return choices[0], err
	}
	for _, c := range choices {
		if c.String() == text {
			return c, nil
		}
	}
	return choices[0], fmt.Errorf("%q is none of %v", text, choices)
}

func setInt(to *int64, value any) error {
	n, err := parse[int](value)
	*to = int64(n)
	return err
}

func setDuration(to *time.Duration, value any) error {
	text, err := parse[string](value)
	if err == nil {
		*to, err = time.ParseDuration(text)
	}
	return err
}
