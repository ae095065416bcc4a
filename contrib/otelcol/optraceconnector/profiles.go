package optraceconnector

import (
	"bytes"
	"context"
	"fmt"

	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/contrib/otelcol/internal/pdataop"
	"github.com/optrace/optrace/render/otlpprofiles"
)

// profilesConnector makes a profile of the traces of an interval. It is safe for
// concurrent use.
type profilesConnector struct {
	flusher
	cfg  *Profiles
	next xconsumer.Profiles

	forest *trace.Forest
	spans  int // in it, operations included
	n      int // operations in it
	from   otlpprofiles.Producers
}

func newProfilesConnector(cfg *Config, logger *zap.Logger, next xconsumer.Profiles) *profilesConnector {
	c := &profilesConnector{cfg: &cfg.Profiles, next: next}
	c.forget()
	c.flusher = flusher{interval: cfg.FlushInterval, flush: c.send, logger: logger, reader: pdataop.NewReader(nil)}
	return c
}

func (c *profilesConnector) forget() {
	c.forest, c.spans, c.n, c.from = trace.New(), 0, 0, otlpprofiles.Producers{}
	c.forest.KeepShapes()
}

// ConsumeTraces implements consumer.Traces.
func (c *profilesConnector) ConsumeTraces(ctx context.Context, td ptrace.Traces) error {
	if c.add(td) {
		return c.send(ctx)
	}
	return nil
}

// add adds spans, and reports whether the profile has enough of them.
func (c *profilesConnector) add(td ptrace.Traces) (full bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for rec, err := range c.reader.Records(td) {
		switch {
		case err != nil:
			c.logger.Error("reading spans", zap.Error(err))
			continue
		case rec.Resource != nil:
			c.from.Resource(rec.Resource)
			continue
		case rec.Entry != nil:
			c.from.Operation(rec.Entry)
			c.n++
		}
		c.forest.Add(rec)
		c.spans++
	}
	return c.spans >= c.cfg.MaxSpans
}

func (c *profilesConnector) send(ctx context.Context) error {
	out, err := c.take()
	if err != nil || out.SampleCount() == 0 {
		return err
	}
	return c.next.ConsumeProfiles(ctx, out)
}

// take returns the profile and begins another one. Operations come while it is made.
func (c *profilesConnector) take() (pprofile.Profiles, error) {
	c.mu.Lock()
	forest, n := c.forest, c.n
	from := c.from // forget makes another one
	opts := otlpprofiles.Options{Producers: &from}
	opts.Version = optrace.Version
	c.forget()
	c.mu.Unlock()
	if n == 0 {
		return pprofile.NewProfiles(), nil
	}
	var text bytes.Buffer
	if err := otlpprofiles.Write(&text, stacks.Of(forest), opts); err != nil {
		return pprofile.Profiles{}, err
	}
	// Unlike the unmarshalers of pprofile, a request keeps the names of a resource's attributes.
	request := pprofileotlp.NewExportRequest()
	if err := request.UnmarshalProto(text.Bytes()); err != nil {
		return pprofile.Profiles{}, fmt.Errorf("reading the profile of %d operations: %w", n, err)
	}
	return request.Profiles(), nil
}
