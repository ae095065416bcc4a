package live

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/optrace/optrace/internal/profilepush"
	"github.com/optrace/optrace/op/attr"
)

// defaultWindow is how many of the latest operations and spans a Processor holds.
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

	pushURL      string
	pushInterval time.Duration
	pushClient   *http.Client
}

// WithWindow sets how many of the latest operations and spans the page shows, and for how
// long, by the time at which somebody first looked; an age of 0 is for as long as there
// is room. The default are 20,000 of any age.
func WithWindow(records int, age time.Duration) Option {
	return optionFunc(func(c *config) { c.records, c.age = records, age })
}

// WithMeterProvider records metrics of the operations, with the attributes
// tensor.op.name, tensor.device.id and tensor.op.kind:
//
//   - tensor.op.duration, a histogram in seconds. It suggests no buckets: choose the
//     base-2 exponential histogram by a view, or by the exporter's
//     OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION;
//   - tensor.op.memory, a counter in bytes, of the operations that state them;
//   - tensor.op.dropped, a counter of the operations that are not in the profile, because
//     a span could not be read;
//   - tensor.op.push.lost, with WithProfilePush a counter of the operations that did not get
//     to the receiver.
//
// Measurements are made in the context of the operation's span, so that they are its
// exemplars. The MeterProvider bounds the combinations of attributes: OpenTelemetry's has
// 2,000 of them by default, and further ones share one.
func WithMeterProvider(p metric.MeterProvider) Option {
	return optionFunc(func(c *config) { c.meters = p })
}

// WithMapping sets which attributes are read as what; nil is the conventions.
func WithMapping(m *attr.Mapping) Option { return optionFunc(func(c *config) { c.mapping = m }) }

// WithProfilePush posts a profile of the operations of each interval to a receiver of
// OpenTelemetry profiles, by OTLP over HTTP, such as a Collector's otlp receiver: five
// profiles over one dictionary, as package render/otlpprofiles writes them, whose samples link
// to the spans of requests. A URL without a path gets /v1development/profiles, and one may
// have a user's name and password; an empty one stands for none.
//
// An operation is in the profile of the interval in which it ended, below the spans above it,
// ended or not. One below an operation that still runs waits for that, so that self times
// are right. What the receiver cannot take now is tried again, after growing pauses or when
// it says so; 32 MiB of profiles wait at most, and the oldest of more are lost.
// [Processor.PushStats] counts them.
//
// It makes OnStart remember the spans that are open, some 32,000 at most.
func WithProfilePush(url string, interval time.Duration) Option {
	return optionFunc(func(c *config) { c.pushURL, c.pushInterval = url, interval })
}

// WithPushClient sets the client that WithProfilePush posts with, which may authenticate
// itself. It follows redirects as its CheckRedirect says; without one, on the same host.
func WithPushClient(client *http.Client) Option {
	return optionFunc(func(c *config) { c.pushClient = client })
}

func newConfig(opts []Option) (config, error) {
	c := config{records: defaultWindow}
	for _, o := range opts {
		if o != nil {
			o.apply(&c)
		}
	}
	var err error
	if c.records < 1 || c.age < 0 {
		err = fmt.Errorf("a window of %d records, of %v", c.records, c.age)
	}
	if c.pushURL != "" && c.pushInterval < profilepush.MinInterval {
		err = errors.Join(err, fmt.Errorf("profiles pushed every %v; %v is the least", c.pushInterval, profilepush.MinInterval))
	}
	return c, err
}
