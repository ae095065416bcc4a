package optraceexporter

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/confmap/xconfmap"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/optrace/optrace/internal/record/env"
	"github.com/optrace/optrace/internal/record/rotate"
	"github.com/optrace/optrace/internal/record/sink"
)

// Config is the configuration of the exporter.
type Config struct {
	// Path is the file to append to.
	Path string `mapstructure:"path"`
	// Format is "entries": JSON Lines in schema optrace.entries/v1.
	Format string `mapstructure:"format"`
	// Compression is "none", "gzip" or "zstd".
	Compression string `mapstructure:"compression"`
	// Rotation limits files.
	Rotation Rotation `mapstructure:"rotation"`
	// KeepAttributes are keys of additional attributes to keep in entries.
	KeepAttributes []string `mapstructure:"keep_attributes"`
	// OperationTracesOnly omits spans of traces without an operation so far. Otherwise all spans are
	// written, because spans of other processes may arrive before the operations below them.
	OperationTracesOnly bool `mapstructure:"operation_traces_only"`
	// TimeoutConfig limits the time to write a batch.
	TimeoutConfig exporterhelper.TimeoutConfig `mapstructure:",squash"`
	// BackOffConfig configures retries after the timeout.
	BackOffConfig configretry.BackOffConfig `mapstructure:"retry_on_failure"`
}

// Rotation limits files. The limit 0 is off.
type Rotation struct {
	// MaxBytes limits the size of a file.
	MaxBytes int64 `mapstructure:"max_bytes"`
	// MaxAge limits the age of a file.
	MaxAge time.Duration `mapstructure:"max_age"`
	// MaxTotalBytes limits the current file and the rotated ones together.
	MaxTotalBytes int64 `mapstructure:"max_total_bytes"`
}

var _ xconfmap.Validator = (*Config)(nil)

func createDefaultConfig() component.Config {
	return &Config{
		Format: "entries", Compression: "none",
		TimeoutConfig: exporterhelper.NewDefaultTimeoutConfig(), BackOffConfig: configretry.NewDefaultBackOffConfig(),
	}
}

// Validate implements xconfmap.Validator.
func (c *Config) Validate() error {
	var errs []error
	if c.Path == "" {
		errs = append(errs, errors.New("path is empty"))
	}
	if _, err := c.compression(); err != nil {
		errs = append(errs, err)
	}
	if err := c.Rotation.limits().Validate(); err != nil {
		errs = append(errs, fmt.Errorf("rotation: %w", err))
	}
	return errors.Join(errs...)
}

func (r Rotation) limits() rotate.Limits {
	return rotate.Limits{MaxBytes: r.MaxBytes, MaxAge: r.MaxAge, MaxTotal: r.MaxTotalBytes}
}

func (c *Config) compression() (sink.Compression, error) {
	if c.Format != "entries" {
		return sink.None, fmt.Errorf("unknown format %q; it is entries, with the compression zstd for small files",
			c.Format)
	}
	z, err := env.OneOf(c.Compression, sink.None, sink.Gzip, sink.Zstd)
	if err != nil {
		return z, fmt.Errorf("the format %s has no compression %q", c.Format, c.Compression)
	}
	return z, nil
}
