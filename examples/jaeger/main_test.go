package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/ingest/jaeger/jaegertest"
	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// receiver takes OTLP over HTTP, as Jaeger does.
type receiver struct {
	mu     sync.Mutex
	bodies [][]byte
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil || req.URL.Path != "/v1/traces" {
		http.Error(w, "not a trace", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies = append(r.bodies, body)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// service adds what was received to a join, and returns how many operations
// came one by one.
func (r *receiver) service(t *testing.T, join *correlate.Join) (ops int) {
	t.Helper()
	for _, body := range r.bodies {
		for rec, err := range otlp.ProtoRecords(bytes.NewReader(body), "received", nil) {
			check.OK(t, err)
			if rec.Entry != nil {
				ops++
			}
			join.AddService(rec)
		}
		var request collectorpb.ExportTraceServiceRequest
		check.OK(t, proto.Unmarshal(body, &request))
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					addSummaries(join, s)
				}
			}
		}
	}
	return ops
}

func addSummaries(join *correlate.Join, s *tracepb.Span) {
	for _, e := range s.Events {
		if e.Name != "tensor.ops.pruned" {
			continue
		}
		p := op.Pruned{TraceID: op.TraceID(s.TraceId), SpanID: op.SpanID(s.SpanId)}
		for _, a := range e.Attributes {
			switch a.Key {
			case string(tensorconv.OpNameKey):
				p.Operation = a.Value.GetStringValue()
			case string(tensorconv.DeviceIDKey):
				p.DeviceID = a.Value.GetStringValue()
			case "tensor.ops.pruned.count":
				p.Count = a.Value.GetIntValue()
			case "tensor.ops.pruned.duration":
				p.Duration = a.Value.GetIntValue()
			}
		}
		join.AddPruned(p)
	}
}

// What goes to Jaeger and what goes into the batch are one when they are
// joined: nothing is missing, and nothing is there twice.
func TestRun(t *testing.T) {
	received := &receiver{}
	server := httptest.NewServer(received)
	t.Cleanup(server.Close)
	const n = 60
	batch := filepath.Join(t.TempDir(), "ops.jsonl")
	var out strings.Builder
	check.OK(t, run(t.Context(), config{addr: "127.0.0.1:0", otlp: server.URL, batch: batch, requests: n}, &out))

	join := correlate.NewJoin()
	held := received.service(t, join)
	r := compare(t, join, batch, n)
	if e := r.Endpoints[0]; e.Name != "POST /v1/rank" || e.Service != serviceName || int(r.PrunedOps) != int(e.Ops)-held || held == 0 {
		t.Errorf("%+v, %d in Jaeger and %d in summaries", e, held, r.PrunedOps)
	}
	if !strings.Contains(out.String(), fmt.Sprintf("%d operations written, 0 dropped", r.Endpoints[0].Ops)) {
		t.Errorf("output %q", out.String())
	}
}

// compare joins what Jaeger has with the batch of n requests: nothing is missing, and nothing is there twice.
func compare(t *testing.T, join *correlate.Join, batch string, n int) *correlate.Report {
	t.Helper()
	local := int64(0)
	for rec, err := range ingest.Open(batch).Records() {
		check.OK(t, err)
		if rec.Entry != nil {
			local++
		}
		join.AddLocal(rec)
	}
	r := join.Report(correlate.Options{Jaeger: "http://localhost:16686"})
	if len(r.Requests) != n || len(r.Endpoints) != 1 || r.Endpoints[0].Ops != local {
		t.Fatalf("%d requests, endpoints %+v; %d operations in the batch", len(r.Requests), r.Endpoints, local)
	}
	if r.MissingInJaeger != 0 || r.MissingLocally != 0 || r.UnattachedOps != 0 || r.PrunedOps == 0 {
		t.Errorf("missing in Jaeger %d, locally %d; unattached %d, pruned %d", r.MissingInJaeger, r.MissingLocally, r.UnattachedOps, r.PrunedOps)
	}
	for i := range r.Requests {
		q := &r.Requests[i]
		sum := int64(0)
		for _, p := range q.CriticalPath {
			sum += p.TimeNS
		}
		if sum != q.DurationNS.V || !q.InJaeger || !q.InLocal {
			t.Errorf("request %d: a path of %d, a duration of %d, in Jaeger %v, in the batch %v", i, sum, q.DurationNS.V, q.InJaeger, q.InLocal)
		}
	}
	return r
}

// The same with a real Jaeger, where there is one.
func TestRunWithJaeger(t *testing.T) {
	s := jaegertest.Start(t)
	const n = 100
	batch := filepath.Join(t.TempDir(), "ops.jsonl")
	began := time.Now()
	check.OK(t, run(t.Context(), config{addr: "127.0.0.1:0", otlp: s.OTLP, batch: batch, requests: n}, io.Discard))
	client := check.Must(jaeger.NewClient(s.Query, jaeger.ClientOptions{}))(t)
	join := correlate.NewJoin()
	query := jaeger.Query{Service: serviceName, Start: began, End: time.Now(), Limit: 10 * n}
	for trace, err := range client.Search(t.Context(), query) {
		check.OK(t, err)
		for _, e := range trace.Entries {
			join.AddService(op.Record{Entry: e})
		}
		for i := range trace.Spans {
			join.AddService(op.Record{Span: &trace.Spans[i]})
		}
		for _, p := range trace.Pruned {
			join.AddPruned(p)
		}
	}
	compare(t, join, batch, n)
}
