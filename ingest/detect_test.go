package ingest_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/optest"
	"github.com/optrace/optrace/internal/testing/spantest"
)

func TestDetectsSamples(t *testing.T) {
	for _, test := range []struct {
		path, format string
		entries      int
	}{
		{"kineto/testdata/train.json", "chrome", 10},
		{"kineto/testdata/first_versions.json", "chrome", 4},
		{"kineto/testdata/plain.json", "chrome", 2},
		{"perfetto/testdata/kineto.pftrace", "perfetto", 4},
		{"ort/testdata/squeeze.json", "ort", 5},
		{"jaeger/testdata/v1.76.trace.json", "jaeger-v1", 7},
		{"jaeger/testdata/v2.20.search.json", "jaeger-v1", 21},
		{"jaeger/testdata/edge.json", "jaeger-v1", 0},
		{"stdouttrace/testdata/spans.jsonl", "stdouttrace", 14},
		{"stdouttrace/testdata/spans.pretty.json", "stdouttrace", 7},
	} {
		t.Run(test.path, func(t *testing.T) {
			in := ingest.Open(test.path)
			names, bad, err := read(in)
			if err != nil || len(bad) > 0 {
				t.Fatalf("err = %v, bad = %q", err, bad)
			}
			if diff := cmp.Diff([]string{test.format}, in.Stats().Formats); diff != "" || len(names) != test.entries {
				t.Errorf("%d operations, want %d; formats (-want +got):\n%s", len(names), test.entries, diff)
			}
		})
	}
}

// Perfetto's packets and OTLP's messages start with the same tag. Empty ones in front hide neither format: the file is
// read, or it is an error.
func TestEmptyMessagesInFront(t *testing.T) {
	perfetto := check.Must(os.ReadFile("perfetto/testdata/kineto.pftrace"))(t)
	frames := check.Must(os.ReadFile("otlp/testdata/gate_off/traces.pb"))(t)
	otlp := bytes.Join(spantest.Messages(t, frames), nil)
	const refused = -1
	for _, test := range []struct {
		name    string
		text    []byte
		count   int // of empty messages in front
		entries int
	}{
		{"Perfetto", perfetto, 1, 4},
		{"Perfetto", perfetto, 32 << 10, 4}, // 64 KiB, the first look
		{"Perfetto", perfetto, 40_000, 4},
		{"Perfetto", perfetto, 600_000, refused}, // above the last look, 1 MiB
		{"OTLP", otlp, 1, 21},
		{"OTLP", otlp, 40_000, 21},
		{"OTLP, empty messages behind", slices.Concat(otlp, bytes.Repeat([]byte("\n\x00"), 40_000)), 40_000, 21},
		{"OTLP", otlp, 600_000, refused},
		{"empty messages of two bytes alone", nil, 1, refused},
		{"empty messages alone", nil, 100, refused},
		{"empty messages alone", nil, 40_000, refused},
		{"empty messages alone", nil, 600_000, refused},
	} {
		for _, empty := range []string{"\n\x00", "\n\x80\x00"} {
			text := append(bytes.Repeat([]byte(empty), test.count), test.text...)
			name := fmt.Sprintf("%s behind %d times %q", test.name, test.count, empty)
			got := find(write(t, filepath.Join(t.TempDir(), "input"), text), ingest.Options{})
			if test.entries == refused {
				if got.Err == nil || got.Entries > 0 {
					t.Errorf("%s: %+v, want an error", name, got)
				}
				continue
			}
			if got.Err != nil || got.Entries != test.entries || got.Malformed > 0 {
				t.Errorf("%s: %+v, want %d operations", name, got, test.entries)
			}
		}
	}
	// An empty batch in a frame or in JSON is a recording without spans.
	for _, text := range []string{"\x00\x00\x00\x02\n\x00", `{"resourceSpans":[{}]}`} {
		got := find(write(t, filepath.Join(t.TempDir(), "input"), []byte(text)), ingest.Options{})
		check.Equal(t, text, optest.Found{}, got)
	}
}
