package optraceexporter

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/optrace/optrace/contrib/otelcol/internal/pdatatest"
	"github.com/optrace/optrace/internal/check"
)

func TestConfig(t *testing.T) {
	for _, tt := range []struct {
		name string
		text map[string]any
		want string // part of the error; "" for none
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
		{"total without size", map[string]any{"path": "x", "rotation": map[string]any{"max_total_bytes": 1}}, "rotation: a bound on the total"},
		{"negative age", map[string]any{"path": "x", "rotation": map[string]any{"max_age": "-1s"}}, "negative"},
		{"negative retries", map[string]any{"path": "x", "retry_on_failure": map[string]any{"initial_interval": "-1s"}}, "initial_interval"},
		{"negative timeout", map[string]any{"path": "x", "timeout": "-1s"}, "non-negative"},
	} {
		t.Run(tt.name, func(t *testing.T) { pdatatest.CheckConfig(t, createDefaultConfig(), tt.text, tt.want) })
	}
}

func TestWholeConfig(t *testing.T) {
	cfg := createDefaultConfig()
	err := confmap.NewFromStringMap(map[string]any{
		"path": "ops.jsonl", "format": "entries", "compression": "zstd", "keep_attributes": []any{"customer"},
		"operation_traces_only": true, "timeout": "3s", "retry_on_failure": map[string]any{"enabled": false},
		"rotation": map[string]any{"max_bytes": 1 << 20, "max_age": "1h", "max_total_bytes": 1 << 30},
	}).Unmarshal(cfg)
	backOff := configretry.NewDefaultBackOffConfig()
	backOff.Enabled = false
	want := &Config{
		BackOffConfig: backOff,
		Path:          "ops.jsonl", Format: "entries", Compression: "zstd", KeepAttributes: []string{"customer"}, OperationTracesOnly: true,
		Rotation:      Rotation{MaxBytes: 1 << 20, MaxAge: time.Hour, MaxTotalBytes: 1 << 30},
		TimeoutConfig: exporterhelper.TimeoutConfig{Timeout: 3 * time.Second},
	}
	if diff := cmp.Diff(want, cfg); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestFactory(t *testing.T) {
	f := NewFactory()
	if f.Type().String() != "optrace" {
		t.Errorf("the type is %q", f.Type())
	}
	check.OK(t, componenttest.CheckConfigStruct(f.CreateDefaultConfig()))
}
