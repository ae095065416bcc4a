package jaeger_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// recorded returns a recorded answer.
func recorded(tb testing.TB, name string) []byte {
	tb.Helper()
	return check.Must(os.ReadFile(filepath.Join("testdata", name)))(tb)
}

// serve returns a client of a server that answers with h.
func serve(t *testing.T, h http.HandlerFunc, opts jaeger.ClientOptions) *jaeger.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return check.Must(jaeger.NewClient(server.URL+"/jaeger/", opts))(t)
}

// paths answers by path. Other paths get Jaeger's page.
func paths(t *testing.T, files map[string]string) http.HandlerFunc {
	t.Helper()
	answers := make(map[string][]byte)
	for path, file := range files {
		answers[path] = recorded(t, file)
	}
	page := recorded(t, "client/page.html")
	return func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			answer = page
		}
		if strings.Contains(string(answer), `"trace not found"`) || strings.Contains(string(answer),
			"No traces found") {
			w.WriteHeader(http.StatusNotFound)
		}
		if strings.Contains(string(answer), `unsupported value`) {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = w.Write(answer)
	}
}

func traceID(t *testing.T, text string) op.TraceID {
	t.Helper()
	id, ok := op.ParseTraceID([]byte(text))
	if !ok {
		t.Fatalf("trace id %q", text)
	}
	return id
}

const (
	recordedID = "ab13a74dcf60e7ab3142e69420535dfc"
	path3      = "/jaeger/api/v3/traces/" + recordedID
	path1      = "/jaeger/api/traces/" + recordedID
)

type total struct {
	API            string
	Entries, Spans int
	Duration       int64
}

func totalOf(c *jaeger.Client, tr *jaeger.Trace) total {
	sum := total{API: c.API(), Entries: len(tr.Entries), Spans: len(tr.Spans)}
	for _, e := range tr.Entries {
		sum.Duration += e.Duration
	}
	return sum
}

func TestClientTrace(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  total
	}{
		"v3": {map[string]string{path3: "client/v1.76.trace.v3.json", path1: "client/nan.v1.json"},
			total{"v3", 7, 2, 74_601}},
		"v1, no v3": {map[string]string{path1: "v1.76.trace.json"}, total{"v1", 7, 2, 70_000}},
		"v1, v3 broken": {map[string]string{path1: "v1.76.trace.json", path3: "client/page.html"},
			total{"v1", 7, 2, 70_000}},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, paths(t, tc.files), jaeger.ClientOptions{})
			for range 2 { // the second time the API is known
				tr, problems, err := c.Trace(t.Context(), traceID(t, recordedID))
				if err != nil || len(problems) > 0 {
					t.Fatalf("problems %v, error %v", problems, err)
				}
				check.Equal(t, "trace", tc.want, totalOf(c, tr))
			}
		})
	}
}

func TestClientTraceNotThere(t *testing.T) {
	for name, tc := range map[string]struct {
		files    map[string]string
		notFound bool
		problem  string
	}{
		"v3":                    {files: map[string]string{path3: "client/unknown.v3.json"}, notFound: true},
		"v1":                    {files: map[string]string{path1: "client/unknown.v1.json"}, notFound: true},
		"another trace":         {files: map[string]string{path3: "client/nan.v3.json"}, notFound: true},
		"not finite, only v1":   {files: map[string]string{path1: "client/nan.v1.json"}, problem: "not finite"},
		"larger than the limit": {files: map[string]string{path3: "v1.76.trace.json"}, problem: "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, paths(t, tc.files), jaeger.ClientOptions{MaxMemory: 320_000})
			_, _, err := c.Trace(t.Context(), traceID(t, recordedID))
			var syntax *op.SyntaxError
			switch {
			case errors.Is(err, jaeger.ErrTraceNotFound) != tc.notFound:
				t.Errorf("error %v, not found: %v", err, tc.notFound)
			case tc.problem != "" && (!errors.As(err, &syntax) || !strings.Contains(syntax.Msg, tc.problem)):
				t.Errorf("error %v, want a problem with %q", err, tc.problem)
			}
		})
	}
}

// Errors name the failing server and the likely causes.
func TestClientErrors(t *testing.T) {
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	half := recorded(t, "client/v1.76.trace.v3.json")
	half = half[:len(half)/2]
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"web page":     {paths(t, nil), `a web page, not JSON"; use the address of Jaeger's pages, usually port 16686`},
		"other server": {status(404, "404 page not found\n"), `"404 page not found"; use the address`},
		"empty":        {status(200, ""), "an empty answer"},
		"other JSON":   {status(404, `{"detail":"nothing here"}`), "nothing here"},
		"bad request": {status(400, `{"error":{"httpCode":400,"message":"malformed parameter"}}`),
			`status 400: "malformed parameter"`},
		"v1 errors": {status(200, `{"data":null,"errors":[{"code":400,"msg":"no such thing"}]}`),
			`status 400: "no such thing"`},
		"password":    {status(401, "who is it?"), "name:password@host"},
		"always busy": {status(503, "come back later"), "come back later"},
		"failure": {status(500, `{"error":{"httpCode":500,"message":"storage is down"}}`),
			"storage is down\" (tried"},
		"cut off": {status(200, string(half)), "cut off (tried"},
		"hangs": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			"no answer in time (300ms)"},
		"hangs in the middle": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(half)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "no answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, tc.handler, jaeger.ClientOptions{Timeout: 300 * time.Millisecond})
			_, _, err := c.Trace(t.Context(), traceID(t, recordedID))
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), c.Base()) {
				t.Errorf("error %v, want the address and %q", err, tc.want)
			}
			if errors.Is(err, jaeger.ErrTraceNotFound) {
				t.Errorf("error %#v", err)
			}
		})
	}
}

func TestClientUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := jaeger.NewClient(server.URL, jaeger.ClientOptions{Timeout: 300 * time.Millisecond})
	check.OK(t, err)
	_, _, err = c.Trace(t.Context(), traceID(t, recordedID))
	if err == nil || !strings.Contains(err.Error(), "check that Jaeger runs at this address") ||
		!strings.Contains(err.Error(), server.URL) {
		t.Errorf("error %v", err)
	}
}

// Temporary failures are retried.
func TestClientRetries(t *testing.T) {
	answer := recorded(t, "client/v1.76.trace.v3.json")
	calls := 0
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		switch calls {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2: // cut off, with the length of the whole
			w.Header().Set("Content-Length", "12214")
			_, _ = w.Write(answer[:5000])
		case 3: // cut off without a sign
			_, _ = w.Write(answer[:5000])
		default:
			_, _ = w.Write(answer)
		}
	}, jaeger.ClientOptions{})
	tr, _, err := c.Trace(t.Context(), traceID(t, recordedID))
	check.OK(t, err)
	if diff := cmp.Diff(total{"v3", 7, 2, 74_601}, totalOf(c, tr)); diff != "" || calls != 4 {
		t.Errorf("%d calls, trace (-want +got):\n%s", calls, diff)
	}
}

func TestClientAddress(t *testing.T) {
	c, err := jaeger.NewClient("https://user:secret@host/base/?q=1#x", jaeger.ClientOptions{})
	if err != nil || c.Base() != "https://host/base" {
		t.Errorf("base %q, error %v", c.Base(), err)
	}
}

// The password of an address is sent and appears in no message.
func TestClientPassword(t *testing.T) {
	var user, password string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ = r.BasicAuth()
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	c, err := jaeger.NewClient(strings.Replace(server.URL, "://", "://me:secret@", 1), jaeger.ClientOptions{})
	check.OK(t, err)
	_, _, err = c.Trace(t.Context(), traceID(t, recordedID))
	if user != "me" || password != "secret" || err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("sent %q %q, error %v", user, password, err)
	}
}

// answerAll answers every call with the same text.
type answerAll struct {
	status int
	body   []byte
}

func (a answerAll) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(bytes.NewReader(a.body)), Request: r}, nil
}

// With any answer, the client ends with a trace or an error.
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
		// An undivided window: other searches take long.
		q := jaeger.Query{Service: "api", Start: noon, End: noon.Add(time.Microsecond), Limit: 3}
		for tr, err := range c.Search(t.Context(), q) {
			if (tr == nil) == (err == nil) {
				t.Errorf("trace %v, error %v", tr, err)
			}
		}
	})
}
