package optrace

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel"

	"github.com/optrace/optrace/op"
)

// Option configures an [Exporter].
type Option interface{ apply(config) config }

type config struct {
	mapping     *op.Mapping
	format      Format
	compression Compression
	rotation    rotation
}

// newConfig applies the environment, as far as variables say, and then opts to
// the defaults. Nil options are ignored.
func newConfig(variables []variable[config], opts []Option) (config, error) {
	cfg := fromEnvironment(config{}, variables)
	if err := cfg.validate(); err != nil { // values that do not go together
		otel.Handle(fmt.Errorf("optrace: ignoring the environment: %w", err))
		cfg = config{}
	}
	for _, o := range opts {
		if o != nil {
			cfg = o.apply(cfg)
		}
	}
	if err := cfg.validate(); err != nil {
		return cfg, fmt.Errorf("optrace: new exporter: %w", err)
	}
	return cfg, nil
}

func (cfg config) validate() error {
	var errs []error
	if cfg.format.encoding() == nil {
		errs = append(errs, fmt.Errorf("unknown format %d", cfg.format))
	}
	if cfg.compression > Zstd {
		errs = append(errs, fmt.Errorf("unknown compression %d", cfg.compression))
	}
	return errors.Join(append(errs, cfg.rotation.validate())...)
}

type option func(config) config

func (o option) apply(cfg config) config { return o(cfg) }

// WithMapping makes the exporter read attributes as m says: with aliases for
// the keys of other instrumentation, and with further attributes kept in the
// entries. Default: the conventions alone. m must not be changed afterwards.
func WithMapping(m *op.Mapping) Option {
	return option(func(cfg config) config {
		cfg.mapping = m
		return cfg
	})
}
