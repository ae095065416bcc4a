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
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
)

const (
	sampledRequests = 20
	opsPerRequest   = 10
	tenth           = "TraceIDRatioBased{0.1}"
)

// spread makes equidistant trace ids. The ratio sampler takes a tenth of them.
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

// recordSampled records requests. With remote their parents are remote, and one in ten is sampled.
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

// sampledRun is the output of recordSampled in a file, a forwarder and a batch processor.
type sampledRun struct {
	Operations, Requests int64
	Forwarded, Batched   int
	Sampling             analyze.Sampling
	Sampler              string
}

// runSampled records with a provider of Setup, or of ProviderOptions and further options.
func runSampled(t *testing.T, bySetup, remote bool, format optrace.Format, opts []optrace.SetupOption,
	behind ...sdktrace.TracerProviderOption) sampledRun {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ops")
	forwarded := &spantest.Exporter{}
	batched := &spantest.Exporter{}
	opts = append([]optrace.SetupOption{
		optrace.WithProviderOptions(sdktrace.WithIDGenerator(new(spread)), sdktrace.WithBatcher(batched)),
		optrace.WithSpanExporter(forwarded), optrace.WithExporterOptions(optrace.WithFormat(format)),
	}, opts...)
	if bySetup {
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

// The file has every operation for any sampler, however it is set. With sampled operations only, the file names the
// sampler. Other processors get sampled spans.
func TestSetupRecordsWhatTheSamplerDrops(t *testing.T) {
	ratio := sdktrace.TraceIDRatioBased(0.1)
	const sent = (opsPerRequest + 1) * sampledRequests / 10
	all := sampledRun{opsPerRequest * sampledRequests, sampledRequests, sent, sent, analyze.SamplingNone, ""}
	some := sampledRun{opsPerRequest * sampledRequests / 10, sampledRequests / 10, sent, sent, analyze.SamplingUnknown,
		tenth}
	type options = []optrace.SetupOption
	for _, way := range []struct {
		name, sampler, recordOnly string // variables
		opts                      options
		remote                    bool
		behind                    sdktrace.Sampler
		want                      sampledRun
	}{
		{name: "environment", sampler: "traceidratio", want: all},
		{name: "environment, by the parent", sampler: "parentbased_traceidratio", want: all},
		{name: "WithProviderOptions", opts: options{optrace.WithProviderOptions(sdktrace.WithSampler(ratio))},
			want: all},
		{name: "WithSampler", sampler: "always_on", opts: options{optrace.WithSampler(ratio)}, want: all},
		{name: "remote parents", remote: true, want: all},
		{name: "OPTRACE_RECORD_ONLY=true", recordOnly: "true", opts: options{optrace.WithSampler(ratio)}, want: all},
		{name: "OPTRACE_RECORD_ONLY=false", recordOnly: "false", opts: options{optrace.WithSampler(ratio)}, want: some},
		{name: "WithSampledOnly", sampler: "traceidratio", opts: options{optrace.WithSampledOnly()}, want: some},
		{name: "a sampler behind ProviderOptions", behind: ratio, want: some},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Setenv("OPTRACE_RECORD_ONLY", way.recordOnly)
			t.Setenv("OTEL_TRACES_SAMPLER", way.sampler)
			t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.1")
			errs := spantest.Errors(t)
			for _, format := range allFormats {
				if way.behind == nil {
					check.Equal(t, "Setup, "+format.String(), way.want,
						runSampled(t, true, way.remote, format, way.opts))
				}
				got := runSampled(t, false, way.remote, format, way.opts, sdktrace.WithSampler(way.behind))
				check.Equal(t, "ProviderOptions, "+format.String(), way.want, got)
			}
			if told := fmt.Sprint(errs()); strings.Contains(told, tenth) != (way.behind != nil) {
				t.Errorf("told %s", told)
			}
		})
	}
}

// The SDK's sampler is read from the expected field only.
func TestSamplerIn(t *testing.T) {
	want := sdktrace.TraceIDRatioBased(0.1)
	check.Equal(t, "this SDK", want.Description(),
		optrace.SamplerIn(reflect.ValueOf(sdktrace.NewTracerProvider(sdktrace.WithSampler(want))).Elem()).Description())
	for _, provider := range []any{
		&struct{}{}, &struct{ sampler string }{"x"}, &struct{ sampler *sdktrace.Sampler }{&want},
		&struct{ Sampler sdktrace.Sampler }{want},
	} {
		if got := optrace.SamplerIn(reflect.ValueOf(provider).Elem()); got != nil {
			t.Errorf("%T has the sampler %v", provider, got)
		}
	}
}

// BenchmarkUnsampledRequest measures a request with 100 operations in an unsampled trace.
func BenchmarkUnsampledRequest(b *testing.B) {
	for name, opts := range map[string][]optrace.SetupOption{"all": nil, "sampled only": {optrace.WithSampledOnly()}} {
		b.Run(name, func(b *testing.B) {
			sdk := check.Must(optrace.Setup(filepath.Join(b.TempDir(), "ops.jsonl"),
				append(opts, optrace.WithoutGlobalProvider(),
					optrace.WithSampler(sdktrace.NeverSample()),
					optrace.WithProcessorOptions(optrace.WithPolicy(optrace.PolicyBlock)))...))(b)
			tr := sdk.Tracer()
			app := sdk.TracerProvider().Tracer("app")
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
