package optraceexporter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/contrib/otelcol/internal/pdatatest"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newExporter returns an exporter to path before Start.
func newExporter(t *testing.T, path string, change func(*Config)) exporter.Traces {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	cfg.Path = path
	if change != nil {
		change(cfg)
	}
	return check.Must(NewFactory().CreateTraces(t.Context(), exportertest.NewNopSettings(NewFactory().Type()), cfg))(t)
}

func export(t *testing.T, path string, change func(*Config), all ...ptrace.Traces) {
	t.Helper()
	e := newExporter(t, path, change)
	check.OK(t, e.Start(t.Context(), componenttest.NewNopHost()))
	for _, td := range all {
		check.OK(t, e.ConsumeTraces(t.Context(), td))
	}
	check.OK(t, e.Shutdown(t.Context()))
}

func compareReports(t *testing.T, path string, all ...ptrace.Traces) {
	t.Helper()
	opts := analyze.Options{Workers: 1}
	want := pdatatest.Report(t, opts, all...)
	got := check.Must(analyze.Run(t.Context(), ingest.Open(path), opts))(t)
	if want.Total.Count == 0 || got.Input.Malformed+got.Input.Dropped != 0 {
		t.Errorf("%d operations, %d errors", want.Total.Count, got.Input.Malformed)
	}
	check.Equal(t, "report of the file against that of the spans", want, got,
		cmpopts.IgnoreFields(analyze.Report{}, "Input"))
}

func TestFileHoldsTheSpans(t *testing.T) {
	all := pdatatest.Training(t, 1, 4, 5)
	for name, change := range map[string]func(*Config){
		"none": nil, "gzip": func(c *Config) { c.Compression = "gzip" },
		"zstd":    func(c *Config) { c.Compression = "zstd" },
		"rotated": func(c *Config) { c.Rotation.MaxBytes = 100_000 },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "ops")
			export(t, path, change, all[:2]...)
			export(t, path, change, all[2:]...) // another process appends
			compareReports(t, dir, all...)
			if files, _ := check.Files(t, dir); len(files) > 1 != (name == "rotated") {
				t.Errorf("files %q", files)
			}
		})
	}
}

func TestOperationTracesOnly(t *testing.T) {
	all := pdatatest.Training(t, 4, 1, 1)
	other := all[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().AppendEmpty()
	other.SetName("GET /health")
	other.SetTraceID([16]byte{9, 9: 9})
	other.SetSpanID([8]byte{9})
	for only, want := range map[bool]int{false: 2, true: 1} {
		path := filepath.Join(t.TempDir(), "ops.jsonl")
		export(t, path, func(c *Config) { c.OperationTracesOnly = only }, all...)
		text, err := os.ReadFile(path)
		if got := strings.Count(string(text), `{"span":{`); err != nil || got != want {
			t.Errorf("operation_traces_only %t: %d spans, want %d; %v", only, got, want, err)
		}
	}
}

func TestKeepAttributes(t *testing.T) {
	all := pdatatest.Training(t, 5, 1, 1)
	op1 := all[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(1)
	op1.Attributes().PutStr("customer", "acme")
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	export(t, path, func(c *Config) { c.KeepAttributes = []string{"customer"} }, all...)
	kept := 0
	for e, err := range ingest.Open(path).Entries() {
		check.OK(t, err)
		if len(e.Attrs) == 1 && e.Attrs[0] == (op.Attr{Key: "customer", Value: "acme"}) {
			kept++
		}
	}
	check.Equal(t, "operations have the attribute", 1, kept)
}

// Records too large to be read again are omitted, counted and reported.
func TestLargeTexts(t *testing.T) {
	all := pdatatest.Training(t, 6, 1, 1)
	rs := all[0].ResourceSpans().At(0)
	spans := rs.ScopeSpans().At(0).Spans()
	huge := strings.Repeat("x", 20<<20)
	rs.Resource().Attributes().PutStr("note", huge)
	spans.At(0).SetName(huge)
	spans.At(1).Attributes().PutStr(attrkey.Path, huge)
	path := filepath.Join(t.TempDir(), "ops")
	e := newExporter(t, path, nil)
	check.OK(t, e.Start(t.Context(), componenttest.NewNopHost()))
	err := e.ConsumeTraces(t.Context(), all[0])
	if !consumererror.IsPermanent(err) || strings.Count(err.Error(), "too large to be read again") != 2 {
		t.Errorf("the error is %v", err)
	}
	check.OK(t, e.Shutdown(t.Context()))
	in := check.Must(analyze.Run(t.Context(), ingest.Open(path), analyze.Options{}))(t).Input
	if in.Entries != 39 || in.Dropped != 1 || in.Malformed != 0 {
		t.Errorf("%d operations, %d of them dropped; %d errors", in.Entries, in.Dropped, in.Malformed)
	}
}

func TestStartErrors(t *testing.T) {
	foreign := filepath.Join(t.TempDir(), "notes.txt")
	check.OK(t, os.WriteFile(foreign, []byte("my notes\n"), 0o600))
	for _, path := range []string{foreign, filepath.Join(t.TempDir(), "no", "such", "directory")} {
		e := newExporter(t, path, nil)
		check.Says(t, fmt.Sprintf("%s is taken", path), "", e.Start(t.Context(), componenttest.NewNopHost()))
		check.OK(t, e.Shutdown(t.Context()))
	}
	if text, _ := os.ReadFile(foreign); string(text) != "my notes\n" {
		t.Errorf("the other file is %q now", text)
	}
}

// A batch that failed is not sent again: it counts as dropped.
func TestWriteErrorIsPermanent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /dev/full, which Linux has")
	}
	e := newExporter(t, "/dev/full", nil)
	check.OK(t, e.Start(t.Context(), componenttest.NewNopHost()))
	err := e.ConsumeTraces(t.Context(), pdatatest.Training(t, 7, 1, 1)[0])
	if !consumererror.IsPermanent(err) || !strings.Contains(fmt.Sprint(err), "no space") {
		t.Errorf("the error is %v", err)
	}
	_ = e.Shutdown(t.Context())
}

// A batch that timed out before its write may be sent again.
func TestBusyFile(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	cfg.Path = filepath.Join(t.TempDir(), "ops.jsonl")
	e := &fileExporter{cfg: cfg, logger: zap.NewNop()}
	check.OK(t, e.start(t.Context(), nil))
	all := pdatatest.Training(t, 10, 1, 1)
	check.OK(t, e.sink.Acquire(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := e.consume(ctx, all[0]); !errors.Is(err, context.DeadlineExceeded) || consumererror.IsPermanent(err) {
		t.Errorf("the error is %v", err)
	}
	e.sink.Release()
	check.OK(t, e.consume(t.Context(), all[0]))
	check.OK(t, e.shutdown(t.Context()))
	if n := e.sink.Stats(); n.Dropped != 0 || n.Written != 40 {
		t.Errorf("%+v", n)
	}
	compareReports(t, cfg.Path, all...)
}

func TestConsumeAfterShutdown(t *testing.T) {
	e := newExporter(t, filepath.Join(t.TempDir(), "ops.jsonl"), nil)
	check.OK(t, e.Start(t.Context(), componenttest.NewNopHost()))
	check.OK(t, e.Shutdown(t.Context()))
	check.Says(t, "an exporter that was shut down takes spans", "",
		e.ConsumeTraces(t.Context(), pdatatest.Training(t, 8, 1, 1)[0]))
}

func TestExporterConcurrentSafe(t *testing.T) {
	all := pdatatest.Training(t, 9, 2, 8)
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	e := newExporter(t, path, nil)
	check.OK(t, e.Start(t.Context(), componenttest.NewNopHost()))
	var wg sync.WaitGroup
	for _, td := range all {
		wg.Go(func() {
			if err := e.ConsumeTraces(context.WithoutCancel(t.Context()), td); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	check.OK(t, e.Shutdown(t.Context()))
	entries, _ := recordtest.Split(t, ingest.Open(path).Records())
	check.Equal(t, "operations", 8*2*40, len(entries))
}

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
