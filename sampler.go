package optrace

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/model/attrkey"
)

// WithSampler sets the sampler. It replaces samplers of [WithProviderOptions] and OTEL_TRACES_SAMPLER, and
// selects the spans for exporters of [WithSpanExporter]. The file holds all operations regardless; see
// [WithSampledOnly].
func WithSampler(s sdktrace.Sampler) SetupOption {
	return option[setupConfig](func(cfg *setupConfig) { cfg.sampler = s })
}

// WithSampledOnly leaves operations of unsampled traces out of the file. By default the provider wraps its
// sampler in sdktrace.AlwaysRecord: the file holds all operations and the spans above them, IsRecording is
// true for every span, and an operation of an unsampled trace costs as much as a sampled one.
// OPTRACE_RECORD_ONLY=false sets this option.
func WithSampledOnly() SetupOption {
	return option[setupConfig](func(cfg *setupConfig) { cfg.sampledOnly = true })
}

// samplerOption returns the option for the provider's sampler. It goes behind cfg.providerOptions.
func (cfg *setupConfig) samplerOption() sdktrace.TracerProviderOption {
	s := cfg.sampler
	if cfg.sampledOnly || cfg.disabled {
		return sdktrace.WithSampler(s) // nil changes nothing
	}
	switch {
	case s != nil:
	case len(cfg.providerOptions) == 0 && os.Getenv("OTEL_TRACES_SAMPLER") == "":
		s = sdktrace.ParentBased(sdktrace.AlwaysSample()) // the SDK's default
	default:
		s = samplerOf(sdktrace.NewTracerProvider(cfg.providerOptions...))
	}
	if s == nil {
		otel.Handle(errors.New("optrace: setup: operations that the sampler drops are not recorded: " +
			"it cannot be read from this version of the SDK; give it to WithSampler"))
		return sdktrace.WithSampler(nil)
	}
	return sdktrace.WithSampler(sdktrace.AlwaysRecord(s))
}

// samplerOf returns the sampler of a TracerProvider of the SDK, or nil if it is unknown.
func samplerOf(tp trace.TracerProvider) sdktrace.Sampler {
	p, ok := tp.(*sdktrace.TracerProvider)
	if !ok {
		return nil
	}
	return samplerIn(reflect.ValueOf(p).Elem())
}

// samplerIn reads the unexported field sampler of an addressable TracerProvider: the SDK has no accessor. It
// returns nil if the field has another name or type.
func samplerIn(provider reflect.Value) sdktrace.Sampler {
	f := provider.FieldByName("sampler")
	if !f.IsValid() || f.Type() != reflect.TypeFor[sdktrace.Sampler]() {
		return nil
	}
	return *(*sdktrace.Sampler)(f.Addr().UnsafePointer())
}

// sampledResource maps the resource of spans to the one in the file, with the attribute optrace.sampler.
type sampledResource struct{ given, stated *resource.Resource }

// learn notes the sampler of s's provider if it drops operations.
func (p *Processor) learn(s sdktrace.ReadWriteSpan) {
	given := s.Resource()
	if !p.resource.CompareAndSwap(nil, given) || p.exp == nil {
		return
	}
	sampler := samplerOf(s.TracerProvider())
	if sampler == nil || !leavesOut(sampler.Description(), p.cfg.recordOnly) {
		return
	}
	name := attribute.String(attrkey.Sampler, sampler.Description())
	stated, _ := resource.Merge(given, resource.NewSchemaless(name)) // without a schema there is no conflict
	p.sampled.Store(&sampledResource{given, stated})
	if p.cfg.recordOnly {
		p.errs.Report(fmt.Errorf("optrace: the sampler %s may leave operations out of the recording: give it to "+
			"WithSampler of Setup or ProviderOptions, or put sdktrace.AlwaysRecord around it", name.Value.AsString()))
	}
}

// stated returns the resource to write in place of r.
func (p *Processor) stated(r *resource.Resource) *resource.Resource {
	if s := p.sampled.Load(); s != nil && s.given == r {
		return s.stated
	}
	return r
}

// leavesOut reports whether a sampler with this description drops spans of traces started in this process.
// With recordOnly, record-only spans are not dropped.
func leavesOut(description string, recordOnly bool) bool {
	root, records := strings.CutPrefix(description, "AlwaysRecord{root:")
	root = strings.TrimPrefix(root, "ParentBased{root:")
	return !(records && recordOnly) && !slices.ContainsFunc([]string{"AlwaysOnSampler", "TraceIDRatioBased{1}"},
		func(all string) bool { return strings.HasPrefix(root, all) })
}
