package jaeger_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
)

// answerAll answers every call with the same.
type answerAll struct {
	status int
	body   []byte
}

func (a answerAll) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(bytes.NewReader(a.body)), Request: r}, nil
}

// Whatever a server answers, the client ends, with a trace or with an error.
func FuzzClientAnswer(f *testing.F) {
	for _, name := range []string{
		"v1.76.trace.json", "edge.json", "client/v1.76.trace.v3.json", "client/nan.v1.json", "client/nan.v3.json",
		"client/unknown.v3.json", "client/unknown.v1.json", "client/page.html",
	} {
		f.Add(200, recorded(f, name))
	}
	f.Add(503, []byte(""))
	f.Add(200, []byte(`{"result":{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"01","spanId":"02",`+
		`"events":[{"name":"tensor.ops.pruned","attributes":[{"key":"tensor.op.name","value":{}}]}]}]}]}]}}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		c := check.Must(jaeger.NewClient("http://jaeger", jaeger.ClientOptions{
			HTTPClient: &http.Client{Transport: answerAll{status, body}},
			Timeout:    time.Nanosecond, // no second attempt
		}))(t)
		id := op.TraceID{15: 1}
		tr, _, err := c.Trace(t.Context(), id)
		if (tr == nil) == (err == nil) || tr != nil && tr.ID != id {
			t.Errorf("trace %v, error %v", tr, err)
		}
		// A window that is not divided: searches are long otherwise.
		q := jaeger.Query{Service: "api", Start: noon, End: noon.Add(time.Microsecond), Limit: 3}
		for tr, err := range c.Search(t.Context(), q) {
			if (tr == nil) == (err == nil) {
				t.Errorf("trace %v, error %v", tr, err)
			}
		}
	})
}
