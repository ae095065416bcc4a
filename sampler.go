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

	"github.com/optrace/optrace/internal/attrkey"
)

// WithSampler sets the sampler, in place of one of [WithProviderOptions] and of OTEL_TRACES_SAMPLER. It
// decides which spans exporters of [WithSpanExporter] get. The file has all operations; see
// [WithSampledOnly].
func WithSampler(s sdktrace.Sampler) SetupOption {
	return option[setupConfig](func(cfg *setupConfig) { cfg.sampler = s })
}

// WithSampledOnly leaves operations of unsampled traces out of the file. Without it the provider has
// sdktrace.AlwaysRecord around its sampler, and the file has all operations and the spans above them:
// IsRecording is true for every span, and one of an unsampled trace costs as much as a sampled one.
// Default: OPTRACE_RECORD_ONLY=false, or all operations.
func WithSampledOnly() SetupOption {
	return option[setupConfig](func(cfg *setupConfig) { cfg.sampledOnly = true })
}

// samplerOption returns the option that sets the provider's sampler, behind those that cfg has for it.
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

// samplerOf returns the sampler of a provider of the SDK, nil if it is not known.
func samplerOf(tp trace.TracerProvider) sdktrace.Sampler {
	p, ok := tp.(*sdktrace.TracerProvider)
	if !ok {
		return nil
	}
	return samplerIn(reflect.ValueOf(p).Elem())
}

// samplerIn returns the field sampler of an addressable struct. The SDK has no method that returns it:
// where the field has another name or type the result is nil.
func samplerIn(provider reflect.Value) sdktrace.Sampler {
	f := provider.FieldByName("sampler")
	if !f.IsValid() || f.Type() != reflect.TypeFor[sdktrace.Sampler]() {
		return nil
	}
	return *(*sdktrace.Sampler)(f.Addr().UnsafePointer())
}

// sampledResource is a resource, and the one that the file has in its place: it names the sampler that
// left operations out.
type sampledResource struct{ given, stated *resource.Resource }

// learn notes the sampler of s's provider, if it leaves operations out that p would record.
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
		p.errs.Report(fmt.Errorf("optrace: the sampler %s leaves operations out of the recording: give it to "+
			"WithSampler of Setup or ProviderOptions, or put sdktrace.AlwaysRecord around it", name.Value.AsString()))
	}
}

// stated returns the resource that the file is to have for r.
func (p *Processor) stated(r *resource.Resource) *resource.Resource {
	if s := p.sampled.Load(); s != nil && s.given == r {
		return s.stated
	}
	return r
}

// leavesOut reports whether a sampler with the given description leaves out operations of traces that
// start in this process. recordOnly says that spans are taken that are recorded and not sampled.
func leavesOut(description string, recordOnly bool) bool {
	root, records := strings.CutPrefix(description, "AlwaysRecord{root:")
	root = strings.TrimPrefix(root, "ParentBased{root:")
	return !(records && recordOnly) && !slices.ContainsFunc([]string{"AlwaysOnSampler", "TraceIDRatioBased{1}"},
		func(all string) bool { return strings.HasPrefix(root, all) })
}
