package optrace_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/spantest"
)

func TestOutputOptionErrors(t *testing.T) {
	type options = []optrace.FileExporterOption
	rotation := func(r optrace.Rotation) options { return options{optrace.WithRotation(r)} }
	for name, tt := range map[string]struct {
		opts options
		want string
	}{
		"format":             {options{optrace.WithFormat(9)}, "unknown format 9"},
		"compression":        {options{optrace.WithCompression(9)}, "unknown compression 9"},
		"cache":              {options{optrace.WithCacheBytes(-1)}, "cache size -1 is negative"},
		"negative size":      {rotation(optrace.Rotation{MaxBytes: -1}), "-1 is negative"},
		"negative age":       {rotation(optrace.Rotation{MaxAge: -time.Second}), "-1s is negative"},
		"negative total":     {rotation(optrace.Rotation{MaxTotalBytes: -1}), "-1 is negative"},
		"total without size": {rotation(optrace.Rotation{MaxTotalBytes: 10}), "needs rotation by size"},
		"total below size":   {rotation(optrace.Rotation{MaxBytes: 11, MaxTotalBytes: 10}), "below the file size 11"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ops.jsonl")
			if _, err := optrace.NewFileExporter(path, tt.opts...); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("NewFileExporter returns %v, want %q", err, tt.want)
			}
			if size(path) != 0 {
				t.Error("the file has been written to")
			}
			for _, o := range tt.opts {
				opt, ok := o.(optrace.ExporterOption)
				if !ok {
					continue // for files only
				}
				if _, err := optrace.NewExporter(io.Discard, opt); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("NewExporter returns %v, want %q", err, tt.want)
				}
			}
		})
	}
	exp, err := optrace.NewFileExporter(filepath.Join(t.TempDir(), "ops.jsonl"), optrace.WithRotation(optrace.Rotation{}), nil)
	if err != nil {
		t.Fatalf("limits that are off: %v", err)
	}
	if err := exp.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOutputNames(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{optrace.FormatEntries.String(), "entries"},
		{optrace.FormatOTLPJSON.String(), "otlp-json"},
		{optrace.FormatOTLPProto.String(), "otlp-proto"},
		{optrace.Format(7).String(), "Format(7)"},
		{optrace.CompressionNone.String(), "none"},
		{optrace.CompressionGzip.String(), "gzip"},
		{optrace.CompressionZstd.String(), "zstd"},
		{optrace.Compression(7).String(), "Compression(7)"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// OTLP has no place for gaps: an exporter that only has those to write writes
// nothing, and the next batch is whole.
func TestOutputWithoutGaps(t *testing.T) {
	for _, f := range []optrace.Format{optrace.FormatOTLPJSON, optrace.FormatOTLPProto} {
		var out bytes.Buffer
		fail := true
		exp := newExporter(t, spantest.WriterFunc(func(p []byte) (int, error) {
			if fail {
				return 0, errDisk
			}
			return out.Write(p)
		}), optrace.WithFormat(f))
		if err := exp.ExportSpans(t.Context(), spantest.Operations(2)); !errors.Is(err, errDisk) {
			t.Fatal(err)
		}
		fail = false
		if err := exp.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if got := bytes.TrimSpace(out.Bytes()); len(got) != 0 {
			t.Errorf("%v: Shutdown wrote %q", f, got)
		}
		checkBooks(t, "exporter", exp.Stats())
	}
}
