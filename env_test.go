package optrace_test

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
)

// handled collects what goes to OpenTelemetry's error handler during a test.
func handled(t *testing.T) func() []string {
	t.Helper()
	var mu sync.Mutex
	var got []string
	before := otel.GetErrorHandler()
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, err.Error())
	}))
	t.Cleanup(func() { otel.SetErrorHandler(before) })
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), got...)
	}
}

func TestEnvironmentOfProcessor(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		bad         []string
		log         string // what MarshalLog then shows
	}{
		{"OPTRACE_POLICY", "block", []string{"Block", "drop", "0"}, "Policy:block"},
		{"OPTRACE_MAX_BYTES", "1000000", []string{"abc", "-1", "12", "1e9", "99999999999999999999"}, "BufferBytes:1000000"},
		{"OPTRACE_FLUSH_INTERVAL", "250ms", []string{"250", "0s", "-1s", "soon"}, "FlushInterval:250ms"},
		{"OPTRACE_EXPORT_TIMEOUT", "3s", []string{"3", "0s"}, ""},
		{"OPTRACE_RECORD_ONLY", "true", []string{"maybe"}, ""},
		{"OPTRACE_FORWARD_THRESHOLD", "1ms", []string{"-1ms", "fast"}, ""},
		{"OPTRACE_FORWARD_SAMPLING", "0.5", []string{"NaN", "2", "-0.1", "half"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			errs := handled(t)
			t.Setenv(tt.name, tt.value)
			log := newProcessorLog(t)
			if !strings.Contains(log, tt.log) || len(errs()) > 0 {
				t.Errorf("%s gives %s and %v", tt.value, log, errs())
			}
			for i, bad := range tt.bad {
				t.Setenv(tt.name, bad)
				if log := newProcessorLog(t); tt.log != "" && strings.Contains(log, tt.log) {
					t.Errorf("%q gives %s", bad, log)
				}
				if got := errs(); len(got) != i+1 || !strings.Contains(got[i], tt.name) || !strings.Contains(got[i], bad) {
					t.Errorf("%q is reported as %v", bad, got)
				}
			}
		})
	}
	t.Run("options win", func(t *testing.T) {
		t.Setenv("OPTRACE_POLICY", "block")
		if log := newProcessorLog(t, optrace.WithPolicy(optrace.PolicyDropOldest)); !strings.Contains(log, "Policy:drop-oldest") {
			t.Error(log)
		}
	})
}

func TestEnvironmentOfExporter(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		bad         []string
	}{
		{"OPTRACE_FORMAT", "otlp-json", []string{"OTLP", "json"}},
		{"OPTRACE_COMPRESSION", "zstd", []string{"bzip2"}},
		{"OPTRACE_ROTATE_BYTES", "1000000", []string{"1MB", "-1"}},
		{"OPTRACE_ROTATE_AGE", "1h", []string{"1", "-1h"}},
		{"OPTRACE_MAX_TOTAL_BYTES", "", []string{"-1", "lots", "1000"}}, // none without a rotation
	} {
		t.Run(tt.name, func(t *testing.T) {
			errs := handled(t)
			t.Setenv(tt.name, tt.value)
			exp := newFile(t, filepath.Join(t.TempDir(), "ops"))
			if log := fmt.Sprintf("%+v", exp.MarshalLog()); tt.name == "OPTRACE_FORMAT" && !strings.Contains(log, tt.value) {
				t.Errorf("%s gives %s", tt.value, log)
			}
			if len(errs()) > 0 {
				t.Errorf("%s gives %v", tt.value, errs())
			}
			for i, bad := range tt.bad {
				t.Setenv(tt.name, bad)
				newFile(t, filepath.Join(t.TempDir(), "ops"))
				if got := errs(); len(got) != i+1 {
					t.Errorf("%q is reported as %v", bad, got)
				}
			}
		})
	}
	t.Run("a format that was withdrawn", func(t *testing.T) {
		errs := handled(t)
		t.Setenv("OPTRACE_FORMAT", "arrow")
		newExporter(t, io.Discard)
		got := fmt.Sprint(errs())
		if !strings.Contains(got, "entries with OPTRACE_COMPRESSION=zstd") || !strings.Contains(got, "convert -to parquet") {
			t.Errorf("arrow is reported as %s", got)
		}
	})
	t.Run("rotation is for files", func(t *testing.T) {
		errs := handled(t)
		t.Setenv("OPTRACE_ROTATE_BYTES", "1000000")
		newExporter(t, io.Discard)
		if len(errs()) > 0 {
			t.Error(errs())
		}
	})
}

// newProcessorLog returns how a forwarder, which all variables apply to, describes itself.
func newProcessorLog(t *testing.T, opts ...optrace.ForwarderOption) string {
	t.Helper()
	proc := newForwarder(t, &spantest.Exporter{}, opts...)
	t.Cleanup(func() { _ = proc.Shutdown(context.Background()) })
	return fmt.Sprintf("%+v", proc.MarshalLog())
}
