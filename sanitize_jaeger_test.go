package optrace_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/ingest/jaeger/jaegertest"
)

// A real Jaeger hands out what was recorded with hostile attributes, on both
// versions of its API.
func TestRealJaegerTakesHostileSpans(t *testing.T) {
	s := jaegertest.Start(t)
	var out bytes.Buffer
	exp, err := optrace.NewExporter(&out, optrace.WithFormat(optrace.FormatOTLPJSON))
	if err != nil {
		t.Fatal(err)
	}
	proc := newProcessor(t, exp)
	tp := hostileProvider(proc)
	recordHostile(tp)
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out.Bytes()) {
		s.Send(t, line)
	}

	target, err := url.Parse(s.Query)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	withoutV3 := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/v3/") {
			r.URL.Path = "/"
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(withoutV3.Close)
	for version, address := range map[string]string{"v3": s.Query, "v1": withoutV3.URL} {
		client, err := jaeger.NewClient(address, jaeger.ClientOptions{})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		found := 0
		for tr, err := range client.Search(t.Context(), jaeger.Query{Service: "api", Start: now.Add(-time.Hour), End: now, Limit: 10}) {
			if err != nil {
				t.Fatalf("%s: %v", version, err)
			}
			found++
			if len(tr.Entries) != 1 || len(tr.Spans) != 1 {
				t.Fatalf("%s: trace %+v", version, tr)
			}
			e := tr.Entries[0]
			if e.FLOPs.V != 1<<63-1 || len(e.InputShapes) != 2 || e.ParentSpanID != tr.Spans[0].SpanID {
				t.Errorf("%s: entry %+v", version, e)
			}
		}
		if found != 1 || client.API() != version {
			t.Errorf("%s: %d traces on api %s", version, found, client.API())
		}
	}
}
