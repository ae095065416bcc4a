package optraceconnector

import (
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/optrace/optrace/contrib/otelcol/internal/pdatatest"
	"github.com/optrace/optrace/internal/testing/check"
)

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
