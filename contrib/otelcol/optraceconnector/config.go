package optraceconnector

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap/xconfmap"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/optrace/optrace/internal/record/env"
)

// Config is the configuration of the connector.
type Config struct {
	// FlushInterval is how often metrics are sent on.
	FlushInterval time.Duration `mapstructure:"flush_interval"`
	// Metrics is about metrics.
	Metrics Metrics `mapstructure:"metrics"`
}

// Metrics configures the metrics.
type Metrics struct {
	// Temporality is "cumulative" or "delta".
	Temporality string `mapstructure:"temporality"`
	// SeriesLimit limits the operations, and the devices, of a resource with their own series. Others
	// share a series with the attribute otel.metric.overflow.
	SeriesLimit int `mapstructure:"series_limit"`
	// ResourceLimit limits the resources with their own series. Others share a resource with the attribute
	// otel.metric.overflow.
	ResourceLimit int `mapstructure:"resource_limit"`
	// MaxBuckets limits the buckets of a histogram.
	MaxBuckets int32 `mapstructure:"max_buckets"`
	// Exemplars is the number of longest operations in an interval that become exemplars of a histogram.
	Exemplars int `mapstructure:"exemplars"`
}

const (
	cumulative = "cumulative"
	delta      = "delta"
)

var _ xconfmap.Validator = (*Config)(nil)

func createDefaultConfig() component.Config {
	return &Config{
		FlushInterval: time.Minute,
		Metrics:       Metrics{Temporality: cumulative, SeriesLimit: 2000, ResourceLimit: 1000, MaxBuckets: 160, Exemplars: 4},
	}
}

// Validate implements xconfmap.Validator.
func (c *Config) Validate() error {
	if c.FlushInterval <= 0 {
		return fmt.Errorf("flush_interval is %v; it must be positive", c.FlushInterval)
	}
	return nil
}

// Validate implements xconfmap.Validator.
func (m *Metrics) Validate() error {
	var wrong env.Faults
	known := m.Temporality == cumulative || m.Temporality == delta
	wrong.Add(!known, "unknown temporality %q; known are %s and %s", m.Temporality, cumulative, delta)
	wrong.Add(m.SeriesLimit < 1, "series_limit is %d; it must be positive", m.SeriesLimit)
	wrong.Add(m.ResourceLimit < 1, "resource_limit is %d; it must be positive", m.ResourceLimit)
	wrong.Add(m.MaxBuckets < 2 || m.MaxBuckets > 1024, "max_buckets is %d; it must be from 2 to 1024", m.MaxBuckets)
	wrong.Add(m.Exemplars < 0 || m.Exemplars > 100, "exemplars is %d; it must be from 0 to 100", m.Exemplars)
	return errors.Join(wrong...)
}

func (m *Metrics) temporality() pmetric.AggregationTemporality {
	if m.Temporality == delta {
		return pmetric.AggregationTemporalityDelta
	}
	return pmetric.AggregationTemporalityCumulative
}
