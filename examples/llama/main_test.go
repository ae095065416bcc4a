package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/analyze/flops"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/llamacpp"
	"github.com/optrace/optrace/op"
)

const requests = 12 // the last prompt is long

// record runs the program, or skips the test without llama.cpp.
func record(t *testing.T) (file, output string) {
	t.Helper()
	if _, err := llamacpp.Libraries(t.Context(), t.Output()); err != nil {
		t.Skipf("needs the libraries of llama.cpp, which could not be fetched: %v", err)
	}
	file = filepath.Join(t.TempDir(), "llama.jsonl")
	var out bytes.Buffer
	cfg := config{addr: "127.0.0.1:0", file: file, record: "operations", requests: requests, threads: 1, batch: 772}
	check.OK(t, run(t.Context(), cfg, &out))
	return file, out.String()
}

// recorded returns the operations of a file, and the tokens weighed by the links of steps.
func recorded(t *testing.T, file string) (operations []*op.Entry, weighed int64, join *correlate.Join) {
	t.Helper()
	join = correlate.NewJoin()
	for rec, err := range ingest.Open(file).Records() {
		check.OK(t, err)
		join.AddLocal(rec)
		if rec.Entry != nil {
			operations = append(operations, rec.Entry.Clone())
			check.OK(t, rec.Entry.Validate())
		} else if rec.Span != nil {
			for _, l := range rec.Span.Links {
				weighed += l.Weight.V
			}
		}
	}
	return operations, weighed, join
}

// Every operation belongs to requests. Their shares add up to all operations, below the phases of each.
func TestRequests(t *testing.T) {
	file, output := record(t)
	for _, part := range []string{" waited ", " behind ", "With -batch 64 "} {
		if !strings.Contains(strings.Join(strings.Fields(output), " "), part) {
			t.Errorf("no %q in\n%s", part, output)
		}
	}
	page, err := os.ReadFile(strings.TrimSuffix(file, ".jsonl") + ".html")
	if err != nil || !bytes.Contains(page, []byte("FLASH_ATTN_EXT")) {
		t.Errorf("no page: %v", err)
	}
	operations, weighed, join := recorded(t, file)
	r := join.Report(correlate.Options{})
	if len(r.Requests) != requests || len(r.Shared) == 0 || r.UnattachedOps != 0 || r.MissingLinks != 0 {
		t.Errorf("%d requests, %d shared executions, %d operations unattached, %d links missing",
			len(r.Requests), len(r.Shared), r.UnattachedOps, r.MissingLinks)
	}
	parts := int64(0)
	sum := int64(0)
	phases := make(map[string]int)
	for i := range r.Requests {
		parts += r.Requests[i].SharedNS
		for _, p := range r.Requests[i].CriticalPath {
			phases[p.Operation]++
		}
	}
	steps := make(map[int64]bool)
	for _, o := range operations {
		sum += o.Duration
		steps[o.Step.V] = true
		if o.Operation == "MUL_MAT" && !flops.Of(o).FLOPs.Known {
			t.Fatalf("no FLOPs of %s %v %v", o.Path, o.InputShapes, o.OutputShape)
		}
	}
	if parts != sum || sum == 0 {
		t.Errorf("the requests' parts are %d ns, the operations take %d", parts, sum)
	}
	if weighed <= maxPrompt || len(steps) != len(r.Shared) {
		t.Errorf("%d tokens, %d steps in %d executions", weighed, len(steps), len(r.Shared))
	}
	for _, phase := range []string{"queue", "prefill", "decode", "MUL_MAT"} {
		if phases[phase] == 0 {
			t.Errorf("%s is on no request's path: %v", phase, phases)
		}
	}
}

func TestBadFlags(t *testing.T) {
	check.Says(t, "", "-record all", run(t.Context(), config{record: "all"}, t.Output()))
	check.Says(t, "", "-batch 4", run(t.Context(), config{record: "off", batch: 4}, t.Output()))
}
