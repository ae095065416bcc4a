package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/optrace/optrace/ingest/jaeger/jaegertest"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// realRequests writes n requests to Jaeger and to a file: Jaeger gets the
// requests, the long operations and a summary of the short ones, the file
// everything. Every tenth request is slow because of its matmul.
func realRequests(t *testing.T, s *jaegertest.Server, n int) (path string) {
	t.Helper()
	start := time.Now().Add(-time.Minute).UnixNano()
	var spans []string
	var batch bytes.Buffer
	w := entries.NewWriter(&batch, &op.Resource{Service: "api"})
	for i := range n {
		from, matmul := start+int64(i)*100_000_000, int64(2_000_000)
		if i%10 == 5 {
			matmul = 30_000_000
		}
		id := op.TraceID{0: 1, 14: byte(i >> 8), 15: byte(i)}
		request := op.Span{
			Name: "POST /predict", Service: "api", TraceID: id, SpanID: op.SpanID{7: 1},
			Start: op.Known(from), Duration: matmul + 1_000_000,
		}
		long := op.Entry{Operation: "matmul", Kind: op.KindCompute, DeviceID: "cuda:0", Start: op.Known(from + 100_000), Duration: matmul}
		short := op.Entry{Operation: "relu", Kind: op.KindCompute, DeviceID: "cuda:0", Start: op.Known(from + 200_000 + matmul), Duration: 1500}
		for k, e := range []*op.Entry{&long, &short} {
			e.TraceID, e.SpanID, e.ParentSpanID, e.Root, e.RootSpanID = id, op.SpanID{7: byte(k + 2)}, request.SpanID, request.Name, request.SpanID
			check.OK(t, w.Entry(e))
		}
		check.OK(t, w.Span(&request))
		const span = `{"traceId":"%v","spanId":"%v","parentSpanId":"%s","name":%q,"kind":%d,"startTimeUnixNano":"%d","endTimeUnixNano":"%d"`
		pruned := fmt.Sprintf(`,"events":[{"name":"tensor.ops.pruned","timeUnixNano":"%d","attributes":[`, from) +
			`{"key":"tensor.op.name","value":{"stringValue":"relu"}},` +
			`{"key":"tensor.device.id","value":{"stringValue":"cuda:0"}},` +
			`{"key":"tensor.ops.pruned.count","value":{"intValue":"1"}},` +
			`{"key":"tensor.ops.pruned.duration","value":{"intValue":"1500"}}]}]}`
		const matmulAttributes = `,"attributes":[{"key":"tensor.op.name","value":{"stringValue":"matmul"}},` +
			`{"key":"tensor.device.id","value":{"stringValue":"cuda:0"}}]}`
		spans = append(spans,
			fmt.Sprintf(span, id, request.SpanID, "", request.Name, 2, from, from+request.Duration)+pruned,
			fmt.Sprintf(span, id, long.SpanID, request.SpanID, long.Operation, 1, long.Start.V, long.Start.V+long.Duration)+matmulAttributes)
	}
	check.OK(t, w.Flush())
	s.Send(t, []byte(`{"resourceSpans":[{"resource":{"attributes":[`+
		`{"key":"service.name","value":{"stringValue":"api"}}]},"scopeSpans":[{"spans":[`+
		strings.Join(spans, ",")+`]}]}]}`))
	path = filepath.Join(t.TempDir(), "ops.jsonl")
	check.OK(t, os.WriteFile(path, batch.Bytes(), 0o600))
	return path
}

// correlated is the part of a report that the test looks at.
type correlated struct {
	Requests []struct {
		TraceID      string `json:"trace_id"`
		Duration     int64  `json:"duration_ns"`
		Ops          int64
		Uncovered    int64 `json:"uncovered_ns"`
		CriticalPath []struct {
			Operation string
			Time      int64 `json:"ns"`
		} `json:"critical_path"`
		Link string
		Slow bool
	}
	Endpoints []struct {
		Root string
		Ops  int64
		Slow struct {
			Difference float64 `json:"difference_ns"`
			Parts      []struct {
				Operation  string
				Difference float64 `json:"difference_ns"`
			}
			Link string
		}
	}
	MissingInJaeger int64 `json:"missing_in_jaeger"`
	MissingLocally  int64 `json:"missing_locally"`
	PrunedOps       int64 `json:"pruned_ops"`
}

func correlateReal(t *testing.T, args ...string) (r correlated) {
	t.Helper()
	check.OK(t, json.Unmarshal([]byte(succeeds(t, append([]string{"correlate", "-json"}, args...)...)), &r))
	return r
}

func TestCorrelateReal(t *testing.T) {
	s := jaegertest.Start(t)
	const n = 200
	path := realRequests(t, s, n)
	offline := correlateReal(t, path)
	joined := correlateReal(t, "-jaeger", s.Query, "-service", "api", path)
	alone := correlateReal(t, "-jaeger", s.Query, "-service", "api")
	if joined.MissingInJaeger != 0 || joined.MissingLocally != 0 || joined.PrunedOps != n {
		t.Errorf("missing in Jaeger %d, locally %d; pruned %d, want %d", joined.MissingInJaeger, joined.MissingLocally, joined.PrunedOps, n)
	}
	for name, r := range map[string]correlated{"offline": offline, "joined": joined, "alone": alone} {
		if len(r.Requests) != n || len(r.Endpoints) != 1 || r.Endpoints[0].Ops != 2*n {
			t.Fatalf("%s: %d requests, endpoints %+v", name, len(r.Requests), r.Endpoints)
		}
		slow := r.Endpoints[0].Slow
		if slow.Difference != 28_000_000 || slow.Parts[0].Operation != "matmul" || slow.Parts[0].Difference != 28_000_000 {
			t.Errorf("%s: slow requests %+v", name, slow)
		}
	}
	link, compare := joined.Requests[0].Link, joined.Endpoints[0].Slow.Link
	for i := range joined.Requests {
		joined.Requests[i].Link, offline.Requests[i].Link = "", ""
	}
	check.Equal(t, "requests: joined against offline", offline.Requests, joined.Requests)
	for _, url := range []string{link, compare} {
		if !strings.HasPrefix(url, s.Query+"/trace/") {
			t.Fatalf("link %q", url)
		}
		if page := fetchText(t, url); !strings.Contains(page, "<html") {
			t.Errorf("%s: %.200s", url, page)
		}
	}

	// Without a search the traces of the batch are looked up one by one.
	lookedUp := correlateReal(t, "-jaeger", s.Query, path)
	if lookedUp.MissingInJaeger != 0 || len(lookedUp.Requests) != n {
		t.Errorf("looked up: %d requests, missing in Jaeger %d", len(lookedUp.Requests), lookedUp.MissingInJaeger)
	}
	one := correlateReal(t, "-jaeger", s.Query, "-trace", joined.Requests[5].TraceID, path)
	if len(one.Requests) != 1 || one.Requests[0].Duration != 31_000_000 {
		t.Errorf("one trace: %+v", one.Requests)
	}
	long := correlateReal(t, "-jaeger", s.Query, "-service", "api", "-operation", "POST /predict", "-min-duration", "10ms", path)
	check.Equal(t, "requests of 10 ms or more", n/10, len(long.Requests))
}
