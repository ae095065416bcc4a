package spantest

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/optrace/optrace/internal/testing/check"
)

// HandleErrors sets OpenTelemetry's error handler during a test.
func HandleErrors(tb testing.TB, handle func(error)) {
	before := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(handle))
	tb.Cleanup(func() { otel.SetErrorHandler(before) })
}

// Errors collects the errors of OpenTelemetry's error handler during a test.
func Errors(tb testing.TB) func() []error {
	var mu sync.Mutex
	var got []error
	HandleErrors(tb, func(err error) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, err)
	})
	return func() []error {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got)
	}
}

// Metrics sets a global MeterProvider during a test. The returned function reads the metrics of a scope:
// numbers by metric and error type, the sums of histograms as "name sum", and the names of the components.
func Metrics(tb testing.TB, scope instrumentation.Scope) func() (values map[string]float64, components []string) {
	reader := sdkmetric.NewManualReader()
	before := otel.GetMeterProvider()
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	tb.Cleanup(func() { otel.SetMeterProvider(before) })
	return func() (map[string]float64, []string) {
		tb.Helper()
		var rm metricdata.ResourceMetrics
		check.OK(tb, reader.Collect(tb.Context(), &rm))
		values := make(map[string]float64)
		components := []string(nil)
		add := func(name string, attrs attribute.Set, value float64) {
			key := name
			if v, ok := attrs.Value("error.type"); ok {
				key += " " + v.AsString()
			}
			values[key] += value
			typ, _ := attrs.Value("otel.component.type")
			component, _ := attrs.Value("otel.component.name")
			if !strings.HasPrefix(component.AsString(), typ.AsString()+"/") {
				tb.Errorf("%s: component %q of type %q", key, component.AsString(), typ.AsString())
			}
			if !slices.Contains(components, component.AsString()) {
				components = append(components, component.AsString())
			}
		}
		for _, sm := range rm.ScopeMetrics {
			if sm.Scope.Name != scope.Name {
				continue // the SDK has metrics of its own
			}
			if sm.Scope.Version != scope.Version || sm.Scope.SchemaURL == "" {
				tb.Errorf("the scope is %+v", sm.Scope)
			}
			for _, m := range sm.Metrics {
				switch data := m.Data.(type) {
				case metricdata.Sum[int64]:
					for _, p := range data.DataPoints {
						add(m.Name, p.Attributes, float64(p.Value))
					}
				case metricdata.Histogram[float64]:
					for _, p := range data.DataPoints {
						add(m.Name, p.Attributes, float64(p.Count))
						add(m.Name+" sum", p.Attributes, p.Sum)
					}
				default:
					tb.Errorf("%s has data of type %T", m.Name, m.Data)
				}
			}
		}
		return values, components
	}
}
