package optraceexporter

import (
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/optrace/optrace/contrib/otelcol/internal/pdatatest"
	"github.com/optrace/optrace/internal/testing/check"
)

func TestConfig(t *testing.T) {
	check.OK(t, componenttest.CheckConfigStruct(createDefaultConfig()))
	for _, tt := range []struct {
		name string
		text map[string]any
		want string // part of the error
	}{
		{"path alone", map[string]any{"path": "ops.jsonl"}, ""},
		{"compressed", map[string]any{"path": "ops.jsonl.zst", "format": "entries", "compression": "zstd"}, ""},
		{"no path", nil, "path is empty"},
		{"a typo", map[string]any{"path": "ops.jsonl", "compressed": "zstd"}, "compressed"},
		{"a typo below", map[string]any{"path": "ops.jsonl", "rotation": map[string]any{"max_byte": 1}}, "max_byte"},
		{"unknown format", map[string]any{"path": "x", "format": "json"}, `unknown format "json"`},
		{"unknown compression", map[string]any{"path": "x", "compression": "xz"}, `entries has no compression "xz"`},
		{"a format of before", map[string]any{"path": "x", "format": "arrow"},
			`unknown format "arrow"; it is entries, with the compression zstd`},
		{"total without size", map[string]any{"path": "x", "rotation": map[string]any{"max_total_bytes": 1}},
			"rotation: a bound on the total"},
		{"negative age", map[string]any{"path": "x", "rotation": map[string]any{"max_age": "-1s"}}, "negative"},
		{"negative retries", map[string]any{"path": "x", "retry_on_failure": map[string]any{"initial_interval": "-1s"}},
			"initial_interval"},
		{"negative timeout", map[string]any{"path": "x", "timeout": "-1s"}, "non-negative"},
	} {
		t.Run(tt.name, func(t *testing.T) { pdatatest.CheckConfig(t, createDefaultConfig(), tt.text, tt.want) })
	}
}
