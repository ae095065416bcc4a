package optrace_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/tensorconv"
)

// operationsIn returns the names of the operations in an output.
func operationsIn(t *testing.T, text []byte) (names []string) {
	t.Helper()
	for _, e := range spantest.ReadWhole(t, text).Entries {
		names = append(names, e.Operation)
	}
	return names
}

func setup(t *testing.T, path string, opts ...optrace.SetupOption) *optrace.SDK {
	t.Helper()
	return check.Must(optrace.Setup(path, opts...))(t)
}

// Repeated options add up.
func TestSetup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	first := &spantest.Exporter{}
	second := &spantest.Exporter{}
	spy := &spySampler{}
	before := otel.GetTracerProvider()
	sdk := setup(t, path, optrace.WithSpanExporter(first), optrace.WithSpanExporter(second),
		optrace.WithProviderOptions(sdktrace.WithSampler(spy)),
		optrace.WithProviderOptions(sdktrace.WithResource(resource.NewSchemaless(tensorconv.Rank(3)))),
		optrace.WithExporterOptions(optrace.WithFormat(optrace.FormatOTLPJSON)), optrace.WithExporterOptions(),
		optrace.WithProcessorOptions(optrace.WithPolicy(optrace.PolicyBlock)), optrace.WithProcessorOptions(), nil)
	if otel.GetTracerProvider() != sdk.TracerProvider() {
		t.Error("the provider is not the global one")
	}
	ctx, request := otel.Tracer("app").Start(t.Context(), "request")
	run(ctx, sdk.Tracer(), "matmul")
	request.End()
	for range 2 { // the second call has no effect
		shutdown(t, sdk)
	}
	if otel.GetTracerProvider() != before {
		t.Error("the provider before is not back")
	}
	check.Equal(t, "sampled", 2, len(spy.seen))
	check.Equal(t, "stats", optrace.Stats{Recorded: 1, Written: 1, Skipped: 1}, sdk.Processor().Stats())
	text := readFile(t, path)
	check.Equal(t, "file", []string{"matmul"}, operationsIn(t, text))
	if !bytes.Contains(text, []byte("resourceSpans")) {
		t.Errorf("file %s", text)
	}
	for _, e := range []*spantest.Exporter{first, second} {
		check.Equal(t, "another exporter", []string{"matmul", "request"}, e.Names())
		check.Equal(t, "its shutdowns", 1, e.Shutdowns())
	}
}

// A program's own provider gets the same parts as Setup's, and the global provider does not change.
func TestProviderOptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	spans := &spantest.Exporter{}
	before := otel.GetTracerProvider()
	opts := check.Must(optrace.ProviderOptions(path,
		optrace.WithSpanExporter(spans, optrace.WithForwardThreshold(time.Hour)),
		optrace.WithResourceAttributes(attribute.String("service.name", "ranker"))))(t)
	tp := sdktrace.NewTracerProvider(opts...)
	ctx, request := tp.Tracer("app").Start(t.Context(), "request")
	run(ctx, optrace.NewTracer(tp), "matmul")
	request.End()
	shutdown(t, tp)
	rec := spantest.ReadWhole(t, readFile(t, path))
	if len(rec.Entries) != 1 || rec.Entries[0].Service != "ranker" || rec.Entries[0].Root != "request" {
		t.Errorf("entries %+v", rec.Entries)
	}
	diff := cmp.Diff([]string{"request"}, spans.Names())
	if diff != "" || spans.Shutdowns() != 1 || otel.GetTracerProvider() != before {
		t.Errorf("%d shutdowns; forwarded (-want +got):\n%s", spans.Shutdowns(), diff)
	}
	if opts, err := optrace.ProviderOptions(path, optrace.WithSpanExporter(nil)); opts != nil || err == nil {
		t.Errorf("a nil exporter: %v, %v", opts, err)
	}
}

// A span keeps the links to a batch of 256 requests, unless the user sets limits.
func TestSetupKeepsLinks(t *testing.T) {
	few := sdktrace.NewSpanLimits()
	few.LinkCountLimit = 3
	for name, tt := range map[string]struct {
		env  string
		opts []optrace.SetupOption
		want int
	}{
		"default":     {want: 256},
		"environment": {env: "7", want: 7},
		"option": {opts: []optrace.SetupOption{optrace.WithProviderOptions(sdktrace.WithRawSpanLimits(few))},
			want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.env != "" {
				t.Setenv("OTEL_SPAN_LINK_COUNT_LIMIT", tt.env)
			}
			spans := &spantest.Exporter{}
			sdk := setup(t, filepath.Join(t.TempDir(), "ops.jsonl"),
				append(tt.opts, optrace.WithSpanExporter(spans))...)
			_, step := otel.Tracer("app").Start(t.Context(), "step")
			for i := range 256 {
				step.AddLink(trace.Link{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, byte(i)},
					SpanID: trace.SpanID{1}})})
			}
			step.End()
			shutdown(t, sdk)
			check.Equal(t, "links", tt.want, len(spans.Stubs()[0].Links))
		})
	}
}

// The global provider belongs to the last SDK that has not ended, in any order of ends. After all ends the first
// provider is back.
func TestSetupsEndInAnyOrder(t *testing.T) {
	original := otel.GetTracerProvider()
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			var running []*optrace.SDK
			for range order {
				running = append(running, setup(t, filepath.Join(t.TempDir(), "ops.jsonl")))
			}
			all := slices.Clone(running)
			for _, i := range order {
				shutdown(t, all[i])
				running = slices.DeleteFunc(running, func(s *optrace.SDK) bool { return s == all[i] })
				want := original
				if len(running) > 0 {
					want = running[len(running)-1].TracerProvider()
				}
				if otel.GetTracerProvider() != want {
					t.Errorf("the global provider is another one once %d has ended", i)
				}
			}
		})
	}
}

// SDKs set up and shut down concurrently restore the global provider.
func TestSetupsConcurrentSafe(t *testing.T) {
	original := otel.GetTracerProvider()
	var wg sync.WaitGroup
	for range 8 {
		path := filepath.Join(t.TempDir(), "ops.jsonl")
		wg.Go(func() {
			for range 20 {
				sdk, err := optrace.Setup(path)
				if err != nil {
					t.Error(err)
					return
				}
				shutdown(t, sdk)
			}
		})
	}
	wg.Wait()
	if otel.GetTracerProvider() != original {
		t.Error("the provider before all is not back")
	}
}

// A Setup without the global provider leaves it unchanged, and its Shutdown keeps a provider set later.
func TestSetupLeavesOtherProviders(t *testing.T) {
	before := otel.GetTracerProvider()
	foreign := noop.NewTracerProvider()
	defer otel.SetTracerProvider(before)
	sdk := setup(t, filepath.Join(t.TempDir(), "ops.jsonl"), optrace.WithoutGlobalProvider())
	run(t.Context(), sdk.Tracer(), "matmul")
	during := otel.GetTracerProvider()
	shutdown(t, sdk)
	if after := otel.GetTracerProvider(); during != before || after != before {
		t.Errorf("the global provider is %v, and %v in the end", during, after)
	}
	check.Equal(t, "written", 1, sdk.Processor().Stats().Written)
	sdk = setup(t, filepath.Join(t.TempDir(), "ops.jsonl"))
	otel.SetTracerProvider(foreign)
	if shutdown(t, sdk); otel.GetTracerProvider() != trace.TracerProvider(foreign) {
		t.Error("the global provider of another one went")
	}
}

func TestSetupErrors(t *testing.T) {
	before := otel.GetTracerProvider()
	for name, opts := range map[string][]optrace.SetupOption{
		"no such directory": nil,
		"bad option":        {optrace.WithProcessorOptions(optrace.WithMaxBytes(1))},
		"bad forwarding":    {optrace.WithSpanExporter(&spantest.Exporter{}, optrace.WithMaxBytes(1))},
		"nil forwarding":    {optrace.WithSpanExporter(nil)},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ops.jsonl")
			if opts == nil {
				path = filepath.Join(path, "missing", "ops.jsonl")
			}
			sdk, err := optrace.Setup(path, opts...)
			if sdk != nil || err == nil || otel.GetTracerProvider() != before {
				t.Errorf("a failed setup returns %v, %v, or changed the provider", sdk, err)
			}
			text := fmt.Sprint(err)
			if !strings.HasPrefix(text, "optrace: setup: ") || strings.Count(text, "optrace: ") > 1 {
				t.Errorf("the error %q does not name the package once", text)
			}
			if opts == nil {
				check.Is(t, "the cause", os.ErrNotExist, err)
			}
		})
	}
}

func TestSetupEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "named.jsonl")
	t.Setenv("OPTRACE_FILE", path)
	shutdown(t, setup(t, ""))
	check.Must(os.Stat(path))(t)
}

// With OPTRACE_DISABLED operations are not recorded, and the program's own exporter still works.
func TestSetupDisabled(t *testing.T) {
	t.Setenv("OPTRACE_DISABLED", "true")
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	spans := &spantest.Exporter{}
	for _, opts := range [][]optrace.SetupOption{nil, {optrace.WithSpanExporter(spans)}} {
		sdk := setup(t, path, opts...)
		ctx, request := otel.Tracer("app").Start(t.Context(), "request")
		run(ctx, sdk.Tracer(), "matmul")
		rec := sdk.Processor().Recorder(ctx)
		rec.Begin("matmul", "cpu")
		rec.Finish()
		request.End()
		shutdown(t, sdk)
		if st := sdk.Processor().Stats(); st != (optrace.Stats{}) || sdk.Tracer() != nil {
			t.Errorf("stats are %+v, tracer %v", st, sdk.Tracer())
		}
	}
	check.Equal(t, "spans", []string{"request"}, spans.Names())
	check.Equal(t, "shutdowns", 1, spans.Shutdowns())
	_, err := os.Stat(path)
	check.Is(t, "the file", os.ErrNotExist, err)
}

// clearLaunchers unsets the variables of launchers.
func clearLaunchers(t *testing.T) {
	for _, name := range []string{
		"RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID",
		"SLURM_STEP_NUM_TASKS",
	} {
		t.Setenv(name, "")
	}
}

func TestProcessDetector(t *testing.T) {
	process := fmt.Sprintf("host.name=%s process.pid=%d", check.Must(os.Hostname())(t), os.Getpid())
	golden.Lines(t, "testdata/launchers.txt", func(env string) string {
		clearLaunchers(t)
		for variable := range strings.FieldsSeq(env) {
			name, value, _ := strings.Cut(variable, "=")
			t.Setenv(name, value)
		}
		r := check.Must(optrace.ProcessDetector().Detect(t.Context()))(t)
		more, ok := strings.CutPrefix(strings.Join(texts(r.Attributes()), " "), process)
		check.Equal(t, env+": attributes of the process", true, ok)
		return strings.TrimSpace(more)
	})
}

// The file has the process's rank from the environment, and a report groups by it. OpenTelemetry's variables win.
func TestSetupStatesProcess(t *testing.T) {
	clearLaunchers(t)
	t.Setenv("RANK", "3")
	t.Setenv("WORLD_SIZE", "8")
	for _, test := range []struct {
		name   string
		format optrace.Format
		stated string
		rank   string
	}{
		{"entries", optrace.FormatEntries, "", "3"},
		{"OTLP JSON", optrace.FormatOTLPJSON, "", "3"},
		{"OTLP protobuf", optrace.FormatOTLPProto, "", "3"},
		{"the rank is stated", optrace.FormatEntries, ",tensor.rank=5", "5"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("OTEL_RESOURCE_ATTRIBUTES",
				"service.instance.id=i-7,service.name=trainer,host.name=node-7"+test.stated)
			path := filepath.Join(t.TempDir(), "ops")
			sdk := setup(t, path, optrace.WithExporterOptions(optrace.WithFormat(test.format)))
			rec := sdk.Processor().Recorder(t.Context()) // before the first span
			rec.Begin("matmul", "cuda:0")
			rec.Finish()
			run(t.Context(), sdk.Tracer(), "matmul")
			shutdown(t, sdk)
			by := check.Must(key.Parse("service,rank,service.instance.id,host.name,process.pid,attr:tensor.world_size"))(t)
			report := check.Must(analyze.Run(t.Context(), ingest.Open(path), analyze.Options{By: by}))(t)
			got := []string{fmt.Sprint(len(report.Groups), report.Groups[0].Count)}
			for _, v := range report.Groups[0].Key.Values {
				got = append(got, v.Text)
			}
			want := []string{"1 2", "trainer", test.rank, "i-7", "node-7", strconv.Itoa(os.Getpid()), "8"}
			check.Equal(t, "groups, operations and the key of both", want, got)
		})
	}
}

// Variables set defaults. Invalid values are reported, and the default applies.
func TestEnvironmentOfRecording(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		bad         []string
		log         string // output of MarshalLog
	}{
		{"OPTRACE_POLICY", "block", []string{"Block", "drop", "0"}, "Policy:block"},
		{"OPTRACE_MAX_BYTES", "1000000", []string{"abc", "-1", "12", "1e9", "99999999999999999999"},
			"BufferBytes:1000000"},
		{"OPTRACE_FLUSH_INTERVAL", "250ms", []string{"250", "0s", "-1s", "soon"}, "FlushInterval:250ms"},
		{"OPTRACE_EXPORT_TIMEOUT", "3s", []string{"3", "0s"}, ""},
		{"OPTRACE_RECORD_ONLY", "true", []string{"maybe"}, ""},
		{"OPTRACE_FORWARD_THRESHOLD", "1ms", []string{"-1ms", "fast"}, ""},
		{"OPTRACE_FORWARD_SAMPLING", "0.5", []string{"NaN", "2", "-0.1", "half"}, ""},
		{"OPTRACE_FORMAT", "otlp-json", []string{"OTLP", "json", "arrow"}, "Format:otlp-json"},
		{"OPTRACE_COMPRESSION", "zstd", []string{"bzip2"}, "Compression:zstd"},
		{"OPTRACE_ROTATE_BYTES", "1000000", []string{"1MB", "-1"}, ""},
		{"OPTRACE_ROTATE_AGE", "1h", []string{"1", "-1h"}, ""},
		{"OPTRACE_MAX_TOTAL_BYTES", "", []string{"-1", "lots", "1000"}, ""}, // none without a rotation
	} {
		t.Run(tt.name, func(t *testing.T) {
			errs := spantest.Errors(t)
			t.Setenv(tt.name, tt.value)
			if log := describe(t); !strings.Contains(log, tt.log) || len(errs()) > 0 {
				t.Errorf("%s gives %s and %v", tt.value, log, errs())
			}
			for i, bad := range tt.bad {
				t.Setenv(tt.name, bad)
				if log := describe(t); tt.log != "" && strings.Contains(log, tt.log) {
					t.Errorf("%q gives %s", bad, log)
				}
				got := errs()
				if len(got) != i+1 {
					t.Fatalf("%q is reported as %q", bad, got)
				}
				wants := []string{tt.name, bad}
				switch bad {
				case "1000":
					wants = nil
				case "arrow":
					wants = append(wants, "entries with OPTRACE_COMPRESSION=zstd", "convert -to parquet")
				}
				for _, want := range wants {
					check.Says(t, bad, want, got[i])
				}
			}
		})
	}
	t.Setenv("OPTRACE_POLICY", "block")
	if log := describe(t, optrace.WithPolicy(optrace.PolicyDropOldest)); !strings.Contains(log, "Policy:drop-oldest") {
		t.Errorf("an option and a variable give %s", log)
	}
	errs := spantest.Errors(t)
	t.Setenv("OPTRACE_ROTATE_BYTES", "1000000")
	if newExporter(t, io.Discard); len(errs()) > 0 { // rotation is for files
		t.Error(errs())
	}
}

// describe returns the settings of a forwarder and of a file exporter. Together they use all variables.
func describe(t *testing.T, opts ...optrace.ProcessorOption) string {
	t.Helper()
	proc := newForwarder(t, &spantest.Exporter{}, opts...)
	exp := newFile(t, filepath.Join(t.TempDir(), "ops"))
	defer shutdown(t, proc)
	defer shutdown(t, exp)
	return fmt.Sprintf("%+v %+v", proc.MarshalLog(), exp.MarshalLog())
}

// A program that shuts down with a cancelled context keeps its operations.
func TestShutdownWithContextThatIsDone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	spans := tracetest.NewInMemoryExporter()
	sdk := check.Must(optrace.Setup(path, optrace.WithoutGlobalProvider(), optrace.WithSpanExporter(keep{spans})))(t)
	record(t.Context(), sdk.TracerProvider(), 10)
	check.Is(t, "Shutdown", context.Canceled, sdk.Shutdown(cancelled()))
	check.OK(t, sdk.Shutdown(t.Context()))
	record(t.Context(), sdk.TracerProvider(), 3)
	check.Equal(t, "operations in the file", 10, len(spantest.Read(t, check.Must(os.ReadFile(path))(t)).Entries))
	st := sdk.Processor().Stats()
	if st.Written != 10 || st.Recorded != st.Written+st.Dropped || len(spans.GetSpans()) != 10 {
		t.Errorf("%+v, %d spans", st, len(spans.GetSpans()))
	}
}

// keep keeps spans after Shutdown.
type keep struct{ *tracetest.InMemoryExporter }

func (keep) Shutdown(context.Context) error { return nil }

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
				append(opts, optrace.WithoutGlobalProvider(), optrace.WithSampler(sdktrace.NeverSample()),
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
