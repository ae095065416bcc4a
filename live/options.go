package live

import (
	"fmt"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/optrace/optrace/op/attr"
)

const defaultWindow = 20_000

// Option configures a Processor.
type Option interface{ apply(*config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	records int
	age     time.Duration
	meters  metric.MeterProvider
	mapping *attr.Mapping
}

// WithWindow sets the largest number of latest operations and spans on the page, and their largest age since the page
// first read them; an age of 0 means no limit. The default is 20,000 of any age.
func WithWindow(records int, age time.Duration) Option {
	return optionFunc(func(c *config) { c.records, c.age = records, age })
}

// WithMeterProvider records metrics of the operations, with the attributes tensor.op.name, tensor.device.id and
// tensor.op.kind:
//
//   - tensor.op.duration, a histogram in seconds. It suggests no buckets: choose the base-2 exponential histogram by a
//     view, or by the exporter's OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION;
//   - tensor.op.memory, a counter in bytes, of operations with a stated size;
//   - tensor.op.dropped, a counter of operations missing from the profile because their spans could not be read.
//
// Measurements are made in the context of the operation's span, so the span becomes their exemplar. The MeterProvider
// bounds the combinations of attributes: OpenTelemetry's has 2,000 by default, and further ones share one.
func WithMeterProvider(p metric.MeterProvider) Option {
	return optionFunc(func(c *config) { c.meters = p })
}

// WithMapping sets the mapping of attributes; nil is the conventions.
func WithMapping(m *attr.Mapping) Option { return optionFunc(func(c *config) { c.mapping = m }) }

func newConfig(opts []Option) (config, error) {
	c := config{records: defaultWindow}
	for _, o := range opts {
		if o != nil {
			o.apply(&c)
		}
	}
	if c.records < 1 || c.age < 0 {
		return c, fmt.Errorf("invalid window: %d records, age %v", c.records, c.age)
	}
	return c, nil
}
