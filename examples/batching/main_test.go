package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
)

// Every operation belongs to requests, and the requests' shares add up to all operations.
func TestPartsAddUp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ops.jsonl")
	var out bytes.Buffer
	const requests = 24
	check.OK(t, run(t.Context(), config{addr: "127.0.0.1:0", file: file, requests: requests}, &out))
	if !regexp.MustCompile(`POST /v1/completions \S+ waited [\d.]+ .?s behind the prompt of`).Match(out.Bytes()) {
		t.Errorf("no request waits behind a prompt in\n%s", &out)
	}

	join := correlate.NewJoin()
	recorded := int64(0)
	weighed := int64(0)
	for rec, err := range ingest.Open(file).Records() {
		check.OK(t, err)
		join.AddLocal(rec)
		switch {
		case rec.Entry != nil:
			recorded += rec.Entry.Duration
			check.OK(t, rec.Entry.Validate())
		case rec.Span != nil:
			for _, l := range rec.Span.Links {
				weighed += l.Weight.V
			}
		}
	}
	r := join.Report(correlate.Options{})
	if len(r.Requests) != requests || len(r.Shared) == 0 || r.UnattachedOps != 0 || r.MissingLinks != 0 {
		t.Errorf("%d requests, %d shared executions, %d operations unattached, %d links missing",
			len(r.Requests), len(r.Shared), r.UnattachedOps, r.MissingLinks)
	}
	if len(r.Culprits) == 0 || !strings.Contains(r.Culprits[0].Longest.Text, " behind the ") {
		t.Errorf("the long prompts delay no request: %+v", r.Culprits)
	}
	shared := int64(0)
	for i := range r.Requests {
		q := &r.Requests[i]
		shared += q.SharedNS
		onPath := int64(0)
		for _, p := range q.CriticalPath {
			if p.Operation == "matmul" {
				onPath += p.TimeNS
			}
		}
		if q.OwnNS != 0 || q.SharedNS == 0 || q.SharedOps < 7 || onPath == 0 {
			t.Errorf("request %s: own %d, shared %d in %d operations, %d of matmul on its path", q.TraceID, q.OwnNS,
				q.SharedNS, q.SharedOps, onPath)
		}
	}
	if shared != recorded {
		t.Errorf("the requests' parts are %d ns, the operations take %d", shared, recorded)
	}
	if weighed == 0 {
		t.Error("no link has a weight")
	}
}
