package optraceconnector

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/open-telemetry/opentelemetry-collector-contrib/connector/spanmetricsconnector"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/key"
	"github.com/optrace/optrace/contrib/otelcol/internal/pdatatest"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newTestConnector returns a connector with a stopped clock, before Start.
func newTestConnector(change func(*Config)) *metricsConnector {
	cfg := createDefaultConfig().(*Config)
	if change != nil {
		change(cfg)
	}
	c := newMetricsConnector(cfg, zap.NewNop(), consumertest.NewNop())
	c.now = func() time.Time { return time.Unix(1_800_000_000, 0) }
	return c
}

func consume(t *testing.T, c *metricsConnector, all ...ptrace.Traces) {
	t.Helper()
	for _, td := range all {
		check.OK(t, c.ConsumeTraces(t.Context(), td))
	}
}

func text(a pcommon.Map, key string) string {
	if v, ok := a.Get(key); ok {
		return v.AsString()
	}
	return ""
}

type figures struct {
	Count, Memory               int64
	Sum, Min, Max, FLOPs, Busys float64
}

// figureKey identifies figures.
type figureKey struct {
	Rank                    int64
	Operation, Side, Device string
	Overflow                bool
}

// figuresOf returns the figures of metrics. It adds up points with equal keys.
func figuresOf(all ...pmetric.Metrics) map[figureKey]figures {
	out := make(map[figureKey]figures)
	add := func(rm pmetric.ResourceMetrics, a pcommon.Map, f func(*figures)) {
		rank, _ := strconv.ParseInt(text(rm.Resource().Attributes(), attrkey.Rank), 10, 64)
		k := figureKey{rank, text(a, attrkey.Name), text(a, attrkey.Side), text(a, attrkey.Device),
			text(a, keyOverflow) == "true"}
		x := out[k]
		f(&x)
		out[k] = x
	}
	for _, m := range all {
		for _, rm := range m.ResourceMetrics().All() {
			for _, m := range rm.ScopeMetrics().At(0).Metrics().All() {
				if m.Type() == pmetric.MetricTypeExponentialHistogram {
					for _, p := range m.ExponentialHistogram().DataPoints().All() {
						add(rm, p.Attributes(), func(x *figures) {
							if x.Min = min(x.Min, p.Min()); x.Count == 0 {
								x.Min = p.Min()
							}
							x.Count += int64(p.Count())
							x.Sum += p.Sum()
							x.Max = max(x.Max, p.Max())
						})
					}
					continue
				}
				for _, p := range m.Sum().DataPoints().All() {
					add(rm, p.Attributes(), func(x *figures) {
						switch m.Name() {
						case "tensor.op.memory":
							x.Memory += p.IntValue()
						case "tensor.op.flops":
							x.FLOPs += p.DoubleValue()
						case "tensor.op.busy_time", "tensor.device.busy_time":
							x.Busys += p.DoubleValue()
						}
					})
				}
			}
		}
	}
	return out
}

// reported returns the figures of the same spans in the report.
func reported(t *testing.T, all ...ptrace.Traces) map[figureKey]figures {
	t.Helper()
	keys := check.Must(key.Parse("rank,operation,device"))(t)
	r := pdatatest.Report(t, analyze.Options{By: keys, RecordedFLOPs: true}, all...)
	out := make(map[figureKey]figures)
	for _, g := range r.Groups {
		v := g.Key.Values
		k := figureKey{Rank: v[0].Number.V, Operation: v[1].Text, Side: g.Side, Device: v[2].Text}
		out[k] = figures{
			Count: g.Count, Memory: g.MemoryBytes.V, FLOPs: float64(g.FLOPs),
			Sum: seconds(g.SumNS), Min: seconds(g.MinNS), Max: seconds(g.MaxNS),
		}
	}
	for _, d := range r.Devices {
		if d.DeviceID != "unknown" {
			out[figureKey{Rank: d.Rank.V, Device: d.DeviceID}] = figures{Busys: seconds(d.BusyNS.V)}
		}
	}
	return out
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// equal compares figures. Operations are compared without busy times, because the report only has those of devices.
func equal(t *testing.T, want, got map[figureKey]figures) {
	t.Helper()
	for k, f := range got {
		if k.Operation != "" {
			if f.Busys <= 0 || f.Busys > f.Sum+1e-12 {
				t.Errorf("%v was busy %v s, all took %v s", k, f.Busys, f.Sum)
			}
			f.Busys = 0
			got[k] = f
		}
	}
	check.Equal(t, "figures: metrics against report", want, got, cmpopts.EquateApprox(1e-12, 1e-12))
}

func TestMetricsEqualReport(t *testing.T) {
	all := pdatatest.Training(t, 1, 4, 6)
	c := newTestConnector(nil)
	consume(t, c, all[:3]...)
	c.take() // cumulative points continue
	consume(t, c, all[3:]...)
	equal(t, reported(t, all...), figuresOf(c.take()))
}

func TestDeltasAddUp(t *testing.T) {
	all := pdatatest.Training(t, 2, 2, 6)
	c := newTestConnector(func(c *Config) { c.Metrics.Temporality = delta })
	var parts []pmetric.Metrics
	for _, td := range all {
		consume(t, c, td)
		parts = append(parts, c.take())
	}
	equal(t, reported(t, all...), figuresOf(parts...))
	for _, m := range parts[0].ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().All() {
		temporality := pmetric.AggregationTemporalityUnspecified
		switch m.Type() {
		case pmetric.MetricTypeSum:
			temporality = m.Sum().AggregationTemporality()
		case pmetric.MetricTypeExponentialHistogram:
			temporality = m.ExponentialHistogram().AggregationTemporality()
		}
		check.Equal(t, m.Name(), pmetric.AggregationTemporalityDelta, temporality)
	}
	check.Equal(t, "points without spans", 0, c.take().DataPointCount())
	if c.take(); len(c.sources.all)+len(c.sources.byKey) != 0 {
		t.Errorf("%d unused resources are kept", len(c.sources.all))
	}
}

// Operations beyond the limits are in separate series, and no operation is lost.
func TestLimits(t *testing.T) {
	all := pdatatest.Training(t, 3, 4, 3)
	total := func(m pmetric.Metrics) (sum figures, overflown int64) {
		for k, f := range figuresOf(m) {
			if k.Operation == "" && !k.Overflow {
				continue // a device
			}
			sum.Count += f.Count
			sum.Memory += f.Memory
			sum.FLOPs += f.FLOPs
			sum.Sum += f.Sum
			if k.Overflow {
				overflown += f.Count
			}
		}
		return sum, overflown
	}
	unlimited := newTestConnector(nil)
	consume(t, unlimited, all...)
	want, none := total(unlimited.take())
	check.Equal(t, "operations have no series below the limit", 0, none)
	for _, change := range []func(*Config){
		func(c *Config) { c.Metrics.SeriesLimit = 1 },
		func(c *Config) { c.Metrics.SeriesLimit = 5 },
		func(c *Config) { c.Metrics.ResourceLimit, c.Metrics.SeriesLimit = 1, 3 },
	} {
		c := newTestConnector(change)
		consume(t, c, all...)
		m := c.take()
		got, overflown := total(m)
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" || overflown == 0 {
			t.Errorf("%d in overflow series; the sum of all series (-want +got):\n%s", overflown, diff)
		}
		if n := m.ResourceMetrics().Len(); n > c.cfg.ResourceLimit+1 {
			t.Errorf("%d resources", n)
		}
		for _, s := range c.sources.all {
			if len(s.series.all) > c.cfg.SeriesLimit+1 || len(s.devices.all) > c.cfg.SeriesLimit+1 {
				t.Errorf("%d series, %d devices of a resource", len(s.series.all), len(s.devices.all))
			}
		}
	}
}

func TestLongNames(t *testing.T) {
	td := pdatatest.Training(t, 8, 1, 1)[0]
	s := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(1)
	for _, key := range []string{attrkey.Name, attrkey.Device} {
		s.Attributes().PutStr(key, strings.Repeat("x", 10<<20))
	}
	c := newTestConnector(nil)
	consume(t, c, td)
	for k := range figuresOf(c.take()) {
		if len(k.Operation)+len(k.Device) > 1<<18 {
			t.Errorf("names of %d bytes", len(k.Operation)+len(k.Device))
		}
	}
}

// The exemplars of a series are its longest operations, and each duration is in the bucket of its size.
func TestHistograms(t *testing.T) {
	all := pdatatest.Training(t, 4, 1, 6)
	none := all[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(1)
	none.SetEndTimestamp(none.StartTimestamp())
	histograms := func(exemplars int) pmetric.ExponentialHistogramDataPointSlice {
		c := newTestConnector(func(c *Config) { c.Metrics.Exemplars, c.Metrics.MaxBuckets = exemplars, 20 })
		consume(t, c, all...)
		return c.take().ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).ExponentialHistogram().DataPoints()
	}
	durations := make(map[[3]string][]float64)
	ids := make(map[pcommon.SpanID]ptrace.Span)
	for _, td := range all {
		for _, s := range td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
			k := [3]string{s.Name(), text(s.Attributes(), attrkey.Device), text(s.Attributes(), attrkey.Side)}
			durations[k] = append(durations[k], seconds(int64(s.EndTimestamp()-s.StartTimestamp())))
			ids[s.SpanID()] = s
		}
	}
	points := histograms(3)
	if points.Len() < 5 {
		t.Errorf("only %d series", points.Len())
	}
	zeroes := uint64(0)
	for _, p := range points.All() {
		a := p.Attributes()
		all := durations[[3]string{text(a, attrkey.Name), text(a, attrkey.Device), text(a, attrkey.Side)}]
		slices.Sort(all)
		var longest []float64
		for _, e := range p.Exemplars().All() {
			longest = append(longest, e.DoubleValue())
			s := ids[e.SpanID()]
			ns := int64(s.EndTimestamp() - s.StartTimestamp())
			if s.TraceID() != e.TraceID() || s.EndTimestamp() != e.Timestamp() || seconds(ns) != e.DoubleValue() {
				t.Errorf("the exemplar %v is no operation", e.SpanID())
			}
		}
		slices.Sort(longest)
		check.Equal(t, "exemplars of "+text(a, attrkey.Name), all[max(0, len(all)-3):], longest,
			cmpopts.EquateApprox(1e-12, 0))
		counts := p.Positive().BucketCounts().AsRaw()
		buckets := make([]uint64, len(counts))
		for _, d := range all[p.ZeroCount():] {
			buckets[int(math.Ceil(math.Log2(d)*math.Exp2(float64(p.Scale()))))-1-int(p.Positive().Offset())]++
		}
		check.Equal(t, "buckets of "+text(a, attrkey.Name), buckets, counts)
		if zeroes += p.ZeroCount(); len(counts) > 20 {
			t.Errorf("%d buckets", len(counts))
		}
	}
	check.Equal(t, "durations of 0", 1, zeroes)
	check.Equal(t, "exemplars", 0, histograms(0).At(0).Exemplars().Len())
}

// A connector of the factory flushes at intervals and at its end.
func TestLifecycle(t *testing.T) {
	all := pdatatest.Training(t, 6, 2, 2)
	cfg := createDefaultConfig().(*Config)
	cfg.FlushInterval = 5 * time.Millisecond
	cfg.Metrics.Temporality = delta
	var sink consumertest.MetricsSink
	c := check.Must(NewFactory().CreateTracesToMetrics(t.Context(), connectortest.NewNopSettings(NewFactory().Type()),
		cfg, &sink))(t)
	if c.Capabilities().MutatesData {
		t.Error("the connector claims to change spans")
	}
	check.OK(t, c.Start(t.Context(), componenttest.NewNopHost()))
	check.OK(t, c.ConsumeTraces(t.Context(), all[0]))
	for range 2000 {
		if sink.DataPointCount() > 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if sink.DataPointCount() == 0 {
		t.Error("no metrics at intervals")
	}
	check.OK(t, c.ConsumeTraces(t.Context(), all[1]))
	check.OK(t, c.Shutdown(context.WithoutCancel(t.Context())))
	equal(t, reported(t, all...), figuresOf(sink.AllMetrics()...))
}

func TestShutdownWithoutStart(t *testing.T) {
	check.OK(t, newTestConnector(nil).Shutdown(t.Context()))
}

func TestMetricsConcurrentSafe(t *testing.T) {
	all := pdatatest.Training(t, 7, 2, 8)
	c := newTestConnector(func(c *Config) { c.Metrics.Temporality = delta })
	var wg sync.WaitGroup
	parts := make([]pmetric.Metrics, len(all))
	for i, td := range all {
		wg.Go(func() {
			if err := c.ConsumeTraces(context.WithoutCancel(t.Context()), td); err != nil {
				t.Error(err)
			}
			parts[i] = c.take()
		})
	}
	wg.Wait()
	want := reported(t, all...)
	got := figuresOf(append(parts, c.take())...)
	equal(t, want, got)
}

func TestConfig(t *testing.T) {
	metrics := func(key string, value any) map[string]any {
		return map[string]any{"metrics": map[string]any{key: value}}
	}
	for _, tt := range []struct {
		name string
		text map[string]any
		want string // part of the error
	}{
		{"nothing", nil, ""},
		{"delta", metrics("temporality", "delta"), ""},
		{"no exemplars", metrics("exemplars", 0), ""},
		{"a typo", map[string]any{"flush_intervall": "1s"}, "flush_intervall"},
		{"a typo below", metrics("temporalty", "delta"), "temporalty"},
		{"profiles, which were removed", map[string]any{"profiles": map[string]any{"max_spans": 1}}, "profiles"},
		{"no interval", map[string]any{"flush_interval": "0s"}, "flush_interval is 0s"},
		{"unknown temporality", metrics("temporality", "gauge"), `metrics: unknown temporality "gauge"`},
		{"no series", metrics("series_limit", 0), "series_limit is 0"},
		{"no resources", metrics("resource_limit", -1), "resource_limit is -1"},
		{"one bucket", metrics("max_buckets", 1), "max_buckets is 1"},
		{"many exemplars", metrics("exemplars", 1000), "exemplars is 1000"},
	} {
		t.Run(tt.name, func(t *testing.T) { pdatatest.CheckConfig(t, createDefaultConfig(), tt.text, tt.want) })
	}
}

func TestFactory(t *testing.T) {
	f := NewFactory()
	check.OK(t, componenttest.CheckConfigStruct(f.CreateDefaultConfig()))
	check.Equal(t, "the stability of metrics", component.StabilityLevelAlpha, f.TracesToMetricsStability())
}

// The sum equals a naive count of covered nanoseconds.
func TestIntervalsAgainstNaive(t *testing.T) {
	for seed := range cases.Numbers(t, 300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		bounded := intervals{most: 1 + rng.IntN(8)}
		exact := intervals{most: 1 << 20}
		covered := make(map[int64]bool)
		var sum, atMost int64
		for range 60 {
			start := rng.Int64N(400)
			end := start + rng.Int64N(30) - 2
			sum += exact.add(start, end)
			atMost += bounded.add(start, end)
			for ns := start; ns < end; ns++ {
				covered[ns] = true
			}
			if len(bounded.list) > bounded.most {
				t.Fatalf("seed %d: %d intervals, at most %d", seed, len(bounded.list), bounded.most)
			}
		}
		if sum != int64(len(covered)) || atMost > sum {
			t.Fatalf("seed %d: %d ns, with a bound %d; want %d", seed, sum, atMost, len(covered))
		}
	}
}

// The sum of sorted intervals is exact.
func TestIntervalsInOrder(t *testing.T) {
	few := intervals{most: 2}
	var sum int64
	for i := range int64(1000) {
		sum += few.add(10*i, 10*i+4)
	}
	check.Equal(t, "ns of 4000", 4000, sum)
}

// The peer is spanmetrics with the same dimensions and histogram. It has no memory, FLOPs and busy times.
func BenchmarkConnector(b *testing.B) {
	traces := pdatatest.Training(b, 1, 2, 50)
	spans := 0
	for _, td := range traces {
		spans += td.SpanCount()
	}
	cfg := spanmetricsconnector.NewFactory().CreateDefaultConfig().(*spanmetricsconnector.Config)
	for _, name := range []string{attrkey.Name, attrkey.Device, attrkey.Kind, attrkey.Side} {
		cfg.Dimensions = append(cfg.Dimensions, spanmetricsconnector.Dimension{Name: name})
	}
	cfg.ExcludeDimensions = []string{"span.name", "span.kind", "status.code", "service.name"}
	cfg.Histogram.Exponential = configoptional.Some(spanmetricsconnector.ExponentialHistogramConfig{MaxSize: 160})
	peer, err := spanmetricsconnector.NewFactory().CreateTracesToMetrics(b.Context(),
		connectortest.NewNopSettings(spanmetricsconnector.NewFactory().Type()), cfg, consumertest.NewNop())
	check.OK(b, err)
	for name, c := range map[string]consumer.Traces{"optrace": newTestConnector(nil), "spanmetrics": peer} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, td := range traces {
					check.OK(b, c.ConsumeTraces(b.Context(), td))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*spans), "ns/span")
		})
	}
}
