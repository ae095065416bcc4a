package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/causes"
	"github.com/optrace/optrace/internal/testing/check"
)

// The recordings of demo are a trace of ingest/kineto, recorded by record.py there, and a run of the simulator of
// package causes. Both take less than 300 KB.
func TestDemoRecordings(t *testing.T) {
	gpu := check.Must(recordings.ReadFile("demo/gpu.json.gz"))(t)
	if !bytes.Equal(gpu, check.Must(os.ReadFile("../../ingest/kineto/testdata/h100/allocator.json.gz"))(t)) {
		t.Error("gpu.json.gz is not the trace of ingest/kineto")
	}
	packed := check.Must(recordings.ReadFile("demo/server.jsonl.gz"))(t)
	var want bytes.Buffer
	check.OK(t, causes.Write(&want, "long_prompt", causes.Server, false, 0.3, 1))
	unpacked := check.Must(gzip.NewReader(bytes.NewReader(packed)))(t)
	if got := check.Must(io.ReadAll(unpacked))(t); !bytes.Equal(got, want.Bytes()) {
		t.Error("server.jsonl.gz is not what examples/causes -cause long_prompt -layout server -strength 0.3 writes")
	}
	if n := len(gpu) + len(packed); n >= 300_000 {
		t.Errorf("%d bytes", n)
	}
}

// Demo prints the screen of report on the file that it writes.
func TestDemoIsTheScreenOfReport(t *testing.T) {
	for name, says := range map[string]string{"gpu": "Tensor cores unused", "server": "A long prompt stalls"} {
		file := filepath.Join(t.TempDir(), "file")
		succeeds(t, "demo", "-o", file, name)
		screen := succeeds(t, "demo", name)
		check.Equal(t, name, succeeds(t, "report", file), screen)
		if !strings.Contains(screen, says) {
			t.Errorf("%s does not say %q:\n%s", name, says, screen)
		}
	}
}
