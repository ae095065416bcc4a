package optrace_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/spantest"
)

const (
	sampledRequests = 20
	opsPerRequest   = 10
	tenth           = "TraceIDRatioBased{0.1}"
)

// spread makes trace ids at equal distances, a tenth of which the ratio sampler takes.
type spread struct{ traces, spans uint64 }

func (s *spread) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	id := spreadID(s.traces)
	s.traces++
	return id, s.NewSpanID(ctx, id)
}

func (s *spread) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	s.spans++
	binary.BigEndian.PutUint64(id[:], s.spans)
	return id
}

func spreadID(i uint64) (id trace.TraceID) {
	id[0] = 1
	binary.BigEndian.PutUint64(id[8:], (2*i+1)*(math.MaxUint64/(2*sampledRequests)))
	return id
}

// recordSampled records requests, below remote parents of which a tenth is sampled if remote is set.
func recordSampled(tp trace.TracerProvider, remote bool) {
	tr := optrace.NewTracer(tp)
	for i := range uint64(sampledRequests) {
		ctx := context.Background()
		if remote {
			ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: spreadID(i), SpanID: trace.SpanID{1}, TraceFlags: trace.TraceFlags(min(i%10, 1) ^ 1),
			}))
		}
		ctx, request := tp.Tracer("app").Start(ctx, "request")
		for range opsPerRequest {
			_, o := tr.Start(ctx, "matmul", "cuda:0")
			o.Out(64, 256).End()
		}
		request.End()
	}
}

// sampledRun is what a file, a forwarder and a batch processor have of recordSampled.
type sampledRun struct {
	Operations, Requests int64
	Forwarded, Batched   int
	Sampling             analyze.Sampling
	Sampler              string
}

// runSampled records with a provider of Setup, or of ProviderOptions and behind them.
func runSampled(t *testing.T, remote bool, format optrace.Format, opts []optrace.SetupOption, behind ...sdktrace.TracerProviderOption) sampledRun {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ops")
	forwarded, batched := &spantest.Exporter{}, &spantest.Exporter{}
	opts = append([]optrace.SetupOption{
		optrace.WithProviderOptions(sdktrace.WithIDGenerator(new(spread)), sdktrace.WithBatcher(batched)),
		optrace.WithSpanExporter(forwarded), optrace.WithExporterOptions(optrace.WithFormat(format)),
	}, opts...)
	if behind == nil {
		sdk := setup(t, path, opts...)
		recordSampled(otel.GetTracerProvider(), remote)
		shutdown(t, sdk)
	} else {
		tp := sdktrace.NewTracerProvider(append(check.Must(optrace.ProviderOptions(path, opts...))(t), behind...)...)
		recordSampled(tp, remote)
		shutdown(t, tp)
	}
	for _, s := range append(forwarded.Stubs(), batched.Stubs()...) {
		if !s.SpanContext.IsSampled() {
			t.Fatalf("%s of an unsampled trace is forwarded", s.Name)
		}
	}
	in := check.Must(analyze.Run(t.Context(), ingest.Open(path), analyze.Options{}))(t).Input
	return sampledRun{in.Entries, in.Skipped, len(forwarded.Spans()), len(batched.Spans()), in.Sampling, in.Sampler}
}

// The file has every operation, whatever the sampler decides and however it is set; others get the sampled ones.
func TestSetupRecordsWhatTheSamplerDrops(t *testing.T) {
	ratio := sdktrace.TraceIDRatioBased(0.1)
	const forwarded = (opsPerRequest + 1) * sampledRequests / 10
	want := sampledRun{opsPerRequest * sampledRequests, sampledRequests, forwarded, forwarded, analyze.SamplingNone, ""}
	for _, way := range []struct {
		name   string
		env    string
		opts   []optrace.SetupOption
		remote bool
	}{
		{name: "environment", env: "traceidratio"},
		{name: "environment, by the parent", env: "parentbased_traceidratio"},
		{name: "WithProviderOptions", opts: []optrace.SetupOption{optrace.WithProviderOptions(sdktrace.WithSampler(ratio))}},
		{name: "WithSampler", opts: []optrace.SetupOption{optrace.WithSampler(ratio)}},
		{name: "WithSampler over the environment", env: "always_on", opts: []optrace.SetupOption{optrace.WithSampler(ratio)}},
		{name: "remote parents", remote: true},
	} {
		for _, recordOnly := range []string{"", "true"} { // which is no matter of forwarders
			t.Run(way.name+recordOnly, func(t *testing.T) {
				t.Setenv("OPTRACE_RECORD_ONLY", recordOnly)
				t.Setenv("OTEL_TRACES_SAMPLER", way.env)
				t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.1")
				for _, format := range allFormats {
					check.Equal(t, fmt.Sprint("Setup, ", format), want, runSampled(t, way.remote, format, way.opts))
					check.Equal(t, fmt.Sprint("ProviderOptions, ", format), want,
						runSampled(t, way.remote, format, way.opts, sdktrace.WithRawSpanLimits(optrace.SpanLimits())))
				}
			})
		}
	}
}

// Where sampled operations alone are recorded, the file names the sampler.
func TestSampledOnlyIsStated(t *testing.T) {
	ratio := sdktrace.TraceIDRatioBased(0.1)
	const sampled = sampledRequests / 10
	const forwarded = (opsPerRequest + 1) * sampled
	want := sampledRun{opsPerRequest * sampled, sampled, forwarded, forwarded, analyze.SamplingUnknown, tenth}
	for _, way := range []struct {
		name, env string
		opts      []optrace.SetupOption
		behind    []sdktrace.TracerProviderOption
		told      int
	}{
		{name: "option", opts: []optrace.SetupOption{optrace.WithSampler(ratio), optrace.WithSampledOnly()}},
		{name: "environment", env: "false", opts: []optrace.SetupOption{optrace.WithSampler(ratio)}},
		{name: "a sampler behind ProviderOptions", behind: []sdktrace.TracerProviderOption{sdktrace.WithSampler(ratio)}, told: 1},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Setenv("OPTRACE_RECORD_ONLY", way.env)
			for _, format := range allFormats {
				errs := spantest.Errors(t)
				check.Equal(t, format.String(), want, runSampled(t, false, format, way.opts, way.behind...))
				if told := errs(); len(told) != way.told || way.told > 0 && !strings.Contains(told[0].Error(), tenth) {
					t.Errorf("told %q", told)
				}
			}
		})
	}
}

// The sampler of the SDK is read where it is expected, and not anywhere else.
func TestSamplerIn(t *testing.T) {
	want := sdktrace.TraceIDRatioBased(0.1)
	check.Equal(t, "this SDK", want.Description(),
		optrace.SamplerIn(reflect.ValueOf(sdktrace.NewTracerProvider(sdktrace.WithSampler(want))).Elem()).Description())
	for _, provider := range []any{
		&struct{}{}, &struct{ sampler string }{"x"}, &struct{ sampler *sdktrace.Sampler }{&want}, &struct{ Sampler sdktrace.Sampler }{want},
	} {
		if got := optrace.SamplerIn(reflect.ValueOf(provider).Elem()); got != nil {
			t.Errorf("%T has the sampler %v", provider, got)
		}
	}
}

func TestRecordOnlyEnvironment(t *testing.T) {
	errs := spantest.Errors(t)
	t.Setenv("OPTRACE_RECORD_ONLY", "maybe")
	shutdown(t, newProcessor(t, newExporter(t, &spantest.Buffer{})))
	check.Says(t, "a value that is none", "OPTRACE_RECORD_ONLY", errs()[0])
}

// BenchmarkUnsampledRequest measures a request with 100 operations of a trace that the sampler drops; ns/op and allocs/op
// are those of the request.
func BenchmarkUnsampledRequest(b *testing.B) {
	for name, opts := range map[string][]optrace.SetupOption{"all": nil, "sampled only": {optrace.WithSampledOnly()}} {
		b.Run(name, func(b *testing.B) {
			sdk := check.Must(optrace.Setup(filepath.Join(b.TempDir(), "ops.jsonl"), append(opts, optrace.WithoutGlobalProvider(),
				optrace.WithSampler(sdktrace.NeverSample()), optrace.WithProcessorOptions(optrace.WithPolicy(optrace.PolicyBlock)))...))(b)
			tr, app := sdk.Tracer(), sdk.TracerProvider().Tracer("app")
			b.ReportAllocs()
			for b.Loop() {
				ctx, request := app.Start(context.Background(), "request")
				for range 100 {
					_, o := tr.Start(ctx, "matmul", "cuda:0")
					o.In(64, 784).In(784, 256).Out(64, 256).End()
				}
				request.End()
			}
			shutdown(b, sdk)
		})
	}
}
