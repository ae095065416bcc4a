package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/jaegertest"
	"github.com/optrace/optrace/internal/testing/otlptest"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

// fakeJaeger receives OTLP over HTTP and answers a search with all spans.
func fakeJaeger(t *testing.T) (url string) {
	var mu sync.Mutex
	all := new(tracepb.TracesData)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		if err = errors.Join(err, proto.UnmarshalOptions{Merge: true}.Unmarshal(body, all)); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	})
	mux.HandleFunc("GET /api/v3/traces", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(w, `{"result":%s}`, otlptest.MarshalJSON(t, all))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func TestRun(t *testing.T) {
	url := fakeJaeger(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	testRun(t, url, url) // -otlp wins
	url = fakeJaeger(t)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", url+"/v1/traces")
	testRun(t, "", url)
}

// Without a receiver the operations are recorded, and the program prints the address.
func TestRunWithoutReceiver(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	batch := filepath.Join(t.TempDir(), "ops.jsonl")
	var out strings.Builder
	check.OK(t, run(t.Context(), config{addr: "127.0.0.1:0", batch: batch, requests: 2}, &out))
	if !strings.Contains(out.String(), "spans were not sent to the OTLP receiver at http://127.0.0.1:1: ") {
		t.Error(out.String())
	}
	if entries, _ := recordtest.Split(t, ingest.Open(batch).Records()); len(entries) == 0 {
		t.Error("no operations were recorded")
	}
}

// The same test with a real Jaeger, if available.
func TestRunWithJaeger(t *testing.T) {
	s := jaegertest.Start(t)
	testRun(t, s.OTLP, s.Query)
}

// testRun checks the join of Jaeger's traces and the file: each operation is there once.
func testRun(t *testing.T, otlp, query string) {
	const n = 60
	batch := filepath.Join(t.TempDir(), "ops.jsonl")
	began := time.Now()
	var out strings.Builder
	check.OK(t, run(t.Context(), config{addr: "127.0.0.1:0", otlp: otlp, batch: batch, requests: n}, &out))

	join := correlate.NewJoin()
	held := int64(0)
	local := int64(0)
	client := check.Must(jaeger.NewClient(query, jaeger.ClientOptions{}))(t)
	search := jaeger.Query{Service: serviceName, Start: began, End: time.Now(), Limit: 10 * n}
	for trace, err := range client.Search(t.Context(), search) {
		check.OK(t, err)
		for _, e := range trace.Entries {
			held++
			join.AddService(op.Record{Entry: e})
		}
		for i := range trace.Spans {
			join.AddService(op.Record{Span: &trace.Spans[i]})
		}
		for _, p := range trace.Pruned {
			join.AddPruned(p)
		}
	}
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
		t.Errorf("missing in Jaeger %d, locally %d; unattached %d, pruned %d", r.MissingInJaeger, r.MissingLocally,
			r.UnattachedOps, r.PrunedOps)
	}
	for i := range r.Requests {
		q := &r.Requests[i]
		sum := int64(0)
		for _, p := range q.CriticalPath {
			sum += p.TimeNS
		}
		if sum != q.DurationNS.V || !q.InJaeger || !q.InLocal {
			t.Errorf("request %d: a path of %d, a duration of %d, in Jaeger %v, in the batch %v", i, sum,
				q.DurationNS.V, q.InJaeger, q.InLocal)
		}
	}
	e := r.Endpoints[0]
	if e.Name != "POST /v1/rank" || e.Service != serviceName || r.PrunedOps != e.Ops-held || held == 0 {
		t.Errorf("%+v, %d in Jaeger and %d in summaries", e, held, r.PrunedOps)
	}
	if !strings.Contains(out.String(), fmt.Sprintf("%d operations written, 0 dropped", local)) {
		t.Errorf("output %q", out.String())
	}
}
