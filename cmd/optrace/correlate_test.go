package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/jaegertest"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/render/otlp"
)

// requestsOf sends n requests and writes them to a file: sent are the requests, the long operations and a summary of the
// short ones, the file has everything. Every tenth request is slow because of its matmul.
func requestsOf(t *testing.T, n int, send func([]byte)) (path string) {
	t.Helper()
	start := time.Now().Add(-time.Minute).UnixNano()
	var file, sent bytes.Buffer
	w := entries.NewWriter(&file, &op.Resource{Service: "api"})
	toJaeger := otlp.NewWriter(&sent)
	pruned := []op.Attr{
		{Key: "tensor.op.name", Value: "relu"}, {Key: "tensor.device.id", Value: "cuda:0"},
		{Key: "tensor.ops.pruned.count", Value: "1", Type: op.AttrInt},
		{Key: "tensor.ops.pruned.duration", Value: "1500", Type: op.AttrInt},
	}
	for i := range n {
		from := start + int64(i)*100_000_000
		matmul := int64(2_000_000)
		if i%10 == 5 {
			matmul = 30_000_000
		}
		request := op.Span{
			Name: "POST /predict", Service: "api", TraceID: op.TraceID{0: 1, 14: byte(i >> 8), 15: byte(i)},
			SpanID: op.SpanID{7: 1}, Start: op.Known(from), Duration: matmul + 1_000_000,
		}
		operation := func(id byte, name string, start, duration int64) *op.Entry {
			return &op.Entry{
				Operation: name, Kind: op.KindCompute, DeviceID: "cuda:0", Start: op.Known(start), Duration: duration,
				Service: "api", TraceID: request.TraceID, SpanID: op.SpanID{7: id},
				ParentSpanID: request.SpanID, Root: request.Name, RootSpanID: request.SpanID,
			}
		}
		long := operation(2, "matmul", from+100_000, matmul)
		check.OK(t, errors.Join(w.Entry(long), w.Entry(operation(3, "relu", from+200_000+matmul, 1500)),
			w.Span(&request)))
		request.Extra = &op.Extra{Kind: "server", Events: []op.Event{{Name: "tensor.ops.pruned", Time: op.Known(from),
			Attrs: pruned}}}
		check.OK(t, errors.Join(toJaeger.Span(&request), toJaeger.Entry(long)))
	}
	check.OK(t, errors.Join(w.Flush(), toJaeger.Flush()))
	send(sent.Bytes())
	return tempInput(t, "ops.jsonl", file.String())
}

func correlateReal(t *testing.T, args ...string) (r correlate.Report) {
	t.Helper()
	check.OK(t, json.Unmarshal([]byte(succeeds(t, append([]string{"correlate", "-json"}, args...)...)), &r))
	return r
}

func TestCorrelateReal(t *testing.T) {
	s := jaegertest.Start(t)
	const n = 200
	path := requestsOf(t, n, func(document []byte) { s.Send(t, document) })
	offline := correlateReal(t, path)
	joined := correlateReal(t, "-jaeger", s.Query, "-service", "api", path)
	alone := correlateReal(t, "-jaeger", s.Query, "-service", "api")
	if joined.MissingInJaeger != 0 || joined.MissingLocally != 0 || joined.PrunedOps != n {
		t.Errorf("missing in Jaeger %d, locally %d; pruned %d, want %d", joined.MissingInJaeger, joined.MissingLocally,
			joined.PrunedOps, n)
	}
	for name, r := range map[string]correlate.Report{"offline": offline, "joined": joined, "alone": alone} {
		if len(r.Requests) != n || len(r.Endpoints) != 1 || r.Endpoints[0].Ops != 2*n {
			t.Fatalf("%s: %d requests, endpoints %+v", name, len(r.Requests), r.Endpoints)
		}
		slow := r.Endpoints[0].Slow
		if slow.DifferenceNS != 28_000_000 || slow.Parts[0].Operation != "matmul" ||
			slow.Parts[0].DifferenceNS != 28_000_000 {
			t.Errorf("%s: slow requests %+v", name, slow)
		}
	}
	check.Equal(t, "requests: joined against offline", offline.Requests, joined.Requests,
		cmpopts.IgnoreTypes(correlate.Link("")), cmpopts.IgnoreFields(correlate.Request{}, "InJaeger", "Pruned"))
	for _, link := range []correlate.Link{joined.Requests[0].Link, joined.Endpoints[0].Slow.Link} {
		url := string(link)
		if !strings.HasPrefix(url, s.Query+"/trace/") {
			t.Fatalf("link %q", url)
		}
		if page := fetchText(t, url); !strings.Contains(page, "<html") {
			t.Errorf("%s: %.200s", url, page)
		}
	}

	// Without a search, correlate looks up the traces of the batch one by one.
	lookedUp := correlateReal(t, "-jaeger", s.Query, path)
	if lookedUp.MissingInJaeger != 0 || len(lookedUp.Requests) != n {
		t.Errorf("looked up: %d requests, missing in Jaeger %d", len(lookedUp.Requests), lookedUp.MissingInJaeger)
	}
	one := correlateReal(t, "-jaeger", s.Query, "-trace", joined.Requests[5].TraceID.String(), path)
	if len(one.Requests) != 1 || one.Requests[0].DurationNS.V != 31_000_000 {
		t.Errorf("one trace: %+v", one.Requests)
	}
	long := correlateReal(t, "-jaeger", s.Query, "-service", "api", "-operation", "POST /predict", "-min-duration",
		"10ms", path)
	check.Equal(t, "requests of 10 ms or more", n/10, len(long.Requests))

	for _, want := range []string{"200 annotations sent", "0 annotations sent; 200 requests had one"} {
		_, _, errs := ran(t, "correlate", "-jaeger", s.Query, "-annotate", "-otlp", s.OTLP, path)
		if !strings.Contains(errs, want) {
			t.Errorf("%s, want %s", errs, want)
		}
	}
}

// backend is a tracing backend in the process: a receiver of OTLP and version 3 of Jaeger's API.
type backend struct {
	mu    sync.Mutex
	spans []json.RawMessage // resource spans
	late  bool              // it keeps spans that arrive late
	got   int
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.Method == http.MethodGet {
		_ = json.NewEncoder(w).Encode(map[string]any{"result": map[string]any{"resourceSpans": b.spans}})
		return
	}
	var document struct {
		ResourceSpans []json.RawMessage `json:"resourceSpans"`
	}
	if err := json.NewDecoder(r.Body).Decode(&document); err != nil || r.URL.Path != "/v1/traces" {
		http.Error(w, "no spans", http.StatusBadRequest)
		return
	}
	b.got++
	if b.late || b.got == 1 {
		b.spans = append(b.spans, document.ResourceSpans...)
	}
	_, _ = w.Write([]byte("{}"))
}

func TestAnnotations(t *testing.T) {
	defer func(d time.Duration) { shownWithin = d }(shownWithin)
	shownWithin = 200 * time.Millisecond
	for _, late := range []bool{true, false} {
		b := &backend{late: late}
		server := httptest.NewServer(b)
		defer server.Close()
		path := requestsOf(t, 20, func(document []byte) {
			r := httptest.NewRequest(http.MethodPost, "/v1/traces", strings.NewReader(string(document)))
			b.ServeHTTP(httptest.NewRecorder(), r)
		})
		args := []string{"correlate", "-json", "-jaeger", server.URL, "-annotate", "-otlp", server.URL, "-since",
			"100000h", path}
		_, first, errs := ran(t, args...)
		if !late {
			if !strings.Contains(errs, "keeps no spans that arrive after their trace") || b.got != 2 {
				t.Errorf("%d sent to a backend without late spans: %s", b.got, errs)
			}
			continue
		}
		if !strings.Contains(errs, "20 annotations sent") {
			t.Error(errs)
		}
		all := len(b.spans)
		text := check.Must(json.Marshal(b.spans))(t)
		for _, want := range []string{
			`"name":"optrace: compute 97 %`, `"optrace.request.operations"`, "matmul on cuda:0 ", " of the critical path",
			`"optrace.request.page"`,
		} {
			if !strings.Contains(string(text), want) {
				t.Errorf("no %s in the annotations", want)
			}
		}
		_, second, errs := ran(t, args...)
		if !strings.Contains(errs, "0 annotations sent; 20 requests had one") || len(b.spans) != all {
			t.Errorf("%d more of a second run: %s", len(b.spans)-all, errs)
		}
		var before, after correlate.Report
		check.OK(t, errors.Join(json.Unmarshal([]byte(first), &before), json.Unmarshal([]byte(second), &after)))
		check.Equal(t, "requests beside annotations", before.Requests, after.Requests,
			cmpopts.IgnoreFields(correlate.Request{}, "Annotated"))
	}
}
