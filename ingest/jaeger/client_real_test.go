package jaeger_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/jaegertest"
	"github.com/optrace/optrace/op"
)

// realClients returns a client of a real Jaeger for each API version.
func realClients(t *testing.T, s *jaegertest.Server) map[string]*jaeger.Client {
	t.Helper()
	target, err := url.Parse(s.Query)
	check.OK(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	withoutV3 := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/v3/") {
			r.URL.Path = "/" // the page that unknown paths get
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(withoutV3.Close)
	clients := make(map[string]*jaeger.Client)
	for name, address := range map[string]string{"v3": s.Query, "v1": withoutV3.URL} {
		if clients[name], err = jaeger.NewClient(address, jaeger.ClientOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return clients
}

// realSpans is a request with a summary of pruned operations, and an operation with an integer too large for
// JavaScript. It starts at %[1]d and ends at %[2]d; %[3]s is another attribute.
const realSpans = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{` +
	`"stringValue":"odd"}}]},` +
	`"scopeSpans":[{"spans":[
{"traceId":"%[4]s","spanId":"00000000000000aa","name":"POST /predict","kind":2,"startTimeUnixNano":"%[1]d",
	"endTimeUnixNano":"%[2]d",
"events":[{"timeUnixNano":"%[2]d","name":"tensor.ops.pruned","attributes":[{"key":"tensor.op.name",
	"value":{"stringValue":"relu"}},` +
	`{"key":"tensor.device.id","value":{"stringValue":"cuda:0"}},
{"key":"tensor.ops.pruned.count","value":{"intValue":"3"}},{"key":"tensor.ops.pruned.duration",
	"value":{"intValue":"4500"}}]}]},
{"traceId":"%[4]s","spanId":"00000000000000bb","parentSpanId":"00000000000000aa","name":"matmul","kind":1,` +
	`"startTimeUnixNano":"%[1]d","endTimeUnixNano":"%[2]d",
"attributes":[{"key":"tensor.op.name","value":{"stringValue":"matmul"}},{"key":"tensor.op.flop_count",` +
	`"value":{"intValue":"9007199254740993"}}%[3]s]}]}]}]}`

const notFinite = `,{"key":"loss","value":{"doubleValue":"NaN"}}`

func sendReal(t *testing.T, s *jaegertest.Server, start time.Time, id, attribute string) {
	t.Helper()
	s.Send(t, fmt.Appendf(nil, realSpans, start.UnixNano(), start.Add(time.Millisecond).UnixNano(), attribute, id))
}

// A number that is not finite makes version 1 fail. Other traces are found.
func TestRealNotFinite(t *testing.T) {
	s := jaegertest.Start(t)
	now := time.Now()
	for i := range 20 {
		attribute := ""
		if i == 7 {
			attribute = notFinite
		}
		sendReal(t, s, now.Add(-time.Duration(i+1)*time.Minute), fmt.Sprintf("%031x1", i), attribute)
	}
	query := jaeger.Query{Service: "odd", Start: now.Add(-time.Hour), End: now, Limit: 100}
	for name, c := range realClients(t, s) {
		found, problems := search(t, c, query)
		want := map[string][2]int{"v3": {20, 0}, "v1": {19, 1}}[name]
		check.Equal(t, fmt.Sprintf("%s: traces and problems", name), want, [2]int{len(found), len(problems)})
		if len(problems) > 0 && !strings.Contains(problems[0], "not finite") {
			t.Errorf("%s: problem %q", name, problems[0])
		}
		_, _, err := c.Trace(t.Context(), traceID(t, fmt.Sprintf("%031x1", 7)))
		var syntax *op.SyntaxError
		if errors.As(err, &syntax) != (name == "v1") {
			t.Errorf("%s: trace that is not finite: error %v", name, err)
		}
	}
}

func TestRealSearchThousands(t *testing.T) {
	s := jaegertest.Start(t)
	const n = 3000
	now := time.Now()
	f := &fakeJaeger{traces: spread(n)}
	for i := range f.traces {
		f.traces[i].start = f.traces[i].start.Add(now.Sub(noon))
	}
	for i := 0; i < n; i += 100 {
		w := httptest.NewRecorder()
		f.answerV3(w, f.traces[i:i+100])
		s.Send(t, []byte(strings.TrimSuffix(strings.TrimPrefix(w.Body.String(), `{"result":`), "}")))
	}
	query := jaeger.Query{Service: "api", Start: now.Add(-2 * time.Hour), End: now, Limit: 2 * n}
	for name, c := range realClients(t, s) {
		began := time.Now()
		found, problems := search(t, c, query)
		if len(found) != n || len(problems) > 0 {
			t.Errorf("%s: %d traces, want %d; problems %q", name, len(found), n, problems)
		}
		for id, times := range found {
			check.Equal(t, fmt.Sprintf("%s: trace %d: times", name, id), 1, times)
		}
		t.Logf("%s: %d traces in %v", name, len(found), time.Since(began))
	}
}
