package main

import (
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
)

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
