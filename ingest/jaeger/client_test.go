package jaeger_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/jaegertest"
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

// repeat writes head and then unit n times; for a negative n, until the client closes the connection.
func repeat(w io.Writer, head, unit string, n int) {
	if _, err := io.WriteString(w, head); err != nil {
		return
	}
	block := []byte(strings.Repeat(unit, max(1, 64<<10/len(unit))))
	for n < 0 || n > 0 {
		if n > 0 {
			block = block[:min(len(block), n*len(unit))]
			n -= len(block) / len(unit)
		}
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// zipped compresses the output of write.
func zipped(write func(io.Writer)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		write(z)
		_ = z.Close()
	}
}

// onlyV1 serves a page for other versions than 1.
func onlyV1(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/v3/") {
			_, _ = io.WriteString(w, "<html>")
			return
		}
		h(w, r)
	}
}

// Whatever the server answers, a call ends within its time, in bounded memory, and with an error that names the server
// (docs/reliability.md, reading from Jaeger).
func TestServerFaults(t *testing.T) {
	const v3, v1 = `{"result":{"resourceSpans":[{"scopeSpans":[{"spans":[{}`, `{"data":[{"traceID":"1","spans":[{}`
	const million = 1 << 20
	// A deadline ends these.
	slow := map[string]bool{"a byte at a time": true, "busy for ever": true, "failing": true, "empty members": true,
		"not gzip": true}
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"endless body": {func(w http.ResponseWriter, _ *http.Request) { repeat(w, v3, ",{}", -1) }, "too large"},
		"endless length": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000000000")
			repeat(w, v3, ",{}", -1)
		}, "too large"},
		"gzip bomb": {zipped(func(w io.Writer) { repeat(w, v3, " ", -1) }), "too large"},
		"empty members": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			repeat(w, "", string(check.Gzip(t, "")), -1)
		}, "no answer in time"},
		"not gzip": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, strings.Repeat("no gzip at all ", 10))
		}, "gzip: invalid header"},
		"a byte at a time": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(5 * time.Millisecond)
			}
		}, "no answer in time"},
		"busy for ever": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
		}, "status 429"},
		"failing": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
			"status 500"},
		"a page": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<!doctype html><html>")
		}, "a web page, not JSON"},
		"empty spans, v3": {zipped(func(w io.Writer) {
			repeat(w, v3, ",{}", million)
			_, _ = io.WriteString(w, "]}]}]}}")
		}), "not found"},
		"empty spans, v1": {onlyV1(zipped(func(w io.Writer) {
			repeat(w, v1, ",{}", million)
			_, _ = io.WriteString(w, "]}]}")
		})), "not found"},
		"small spans, v1": {onlyV1(func(w http.ResponseWriter, _ *http.Request) {
			repeat(w, v1, `,{"a":1}`, million)
			_, _ = io.WriteString(w, "]}]}")
		}), "too large"},
		"small spans of a trace": {func(w http.ResponseWriter, _ *http.Request) {
			repeat(w, v3, `,{"traceId":"`+recordedID+`"}`, million/8)
			_, _ = io.WriteString(w, "]}]}]}}")
		}, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			const memory = 64 << 20
			timeout := time.Minute
			if slow[name] {
				timeout = 500 * time.Millisecond
			}
			c := serve(t, tc.handler, jaeger.ClientOptions{Timeout: timeout, MaxMemory: memory})
			var err error
			allocated := check.Allocated(func() { _, _, err = c.Trace(t.Context(), traceID(t, recordedID)) })
			check.Says(t, "", tc.want, err)
			// Garbage counts, too, and so do the server's allocations.
			if allocated > 8*memory {
				t.Errorf("%d MiB allocated", allocated>>20)
			}
		})
	}
}

// A search on a server with too large answers ends after a bounded number of calls.
func TestSearchOfTooLargeAnswers(t *testing.T) {
	var calls atomic.Int64
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		repeat(w, `{"result":{"resourceSpans":[`, " ", -1)
	}, jaeger.ClientOptions{MaxMemory: 16_000})
	var last error
	for _, err := range c.Search(t.Context(), lastHour(1000)) {
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "too large answers") || calls.Load() > 250 {
		t.Errorf("%d calls, error %v", calls.Load(), last)
	}
}

// A redirect to another host needs permission.
func TestRedirects(t *testing.T) {
	answer := recorded(t, "client/v1.76.trace.v3.json")
	var asked atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(true)
		if _, _, ok := r.BasicAuth(); ok {
			t.Error("the other host is told the password")
		}
		_, _ = w.Write(answer)
	}))
	t.Cleanup(other.Close)
	for name, tc := range map[string]struct {
		to     string
		follow bool
		asked  bool
		want   string
	}{
		"another host": {to: other.URL + "/secret", want: "redirects to another host, \"" + other.URL +
			"\", which has to be allowed"},
		"another host, allowed": {to: other.URL, follow: true, asked: true},
		"another scheme":        {to: "file:///etc/passwd", want: "redirects to another host"},
		"itself":                {to: "/jaeger/", want: "redirects 10 times"},
	} {
		t.Run(name, func(t *testing.T) {
			asked.Store(false)
			redirect := httptest.NewServer(http.RedirectHandler(tc.to, http.StatusFound))
			t.Cleanup(redirect.Close)
			base := strings.Replace(redirect.URL, "://", "://me:secret@", 1)
			c, err := jaeger.NewClient(base, jaeger.ClientOptions{FollowRedirects: tc.follow})
			check.OK(t, err)
			_, _, err = c.Trace(t.Context(), traceID(t, recordedID))
			if fmt.Sprint(err) == "" || tc.want == "" && err != nil || !strings.Contains(fmt.Sprint(err), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			check.Equal(t, "the other host was asked", tc.asked, asked.Load())
			if err != nil && (strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "me:xxxxx@")) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A bad address is refused. The error shows no address with a possible password.
func TestAddressErrors(t *testing.T) {
	for _, address := range []string{
		"http://me:sec/ret@host", "me:secret@host", "http://me:secret%@host", "http://me:sec#ret@host",
		"ftp://me:secret@host", "http://me:se?cret@host", "http://me:secret@", "http://me:sec ret@host:x",
		"http://me:secret@[::1", "host/?token=secret", "http://host:x/?token=secret", "ftp://host?secret", "",
		"localhost:16686", "ftp://host", "http://", ":",
	} {
		_, err := jaeger.NewClient(address, jaeger.ClientOptions{})
		if err == nil || strings.Contains(err.Error(), "sec") || strings.Contains(err.Error(), "ret") {
			t.Errorf("NewClient(%q): error %v", address, err)
		}
	}
}

// The first problems of an answer are reported, the others counted.
func TestFurtherProblemsAreCounted(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		repeat(w, `{"result":{"resourceSpans":[{"scopeSpans":[{"spans":[{`+
			`"traceId":"`+recordedID+`","spanId":"0000000000000001"}`, ",{}", 1000)
		_, _ = io.WriteString(w, "]}]}]}}")
	}, jaeger.ClientOptions{})
	tr, problems, err := c.Trace(t.Context(), traceID(t, recordedID))
	if err != nil || len(tr.Spans) != 1 || len(problems) != 101 || !strings.Contains(problems[100].Msg,
		"900 further problems") {
		t.Errorf("trace %+v, %d problems, error %v", tr, len(problems), err)
	}
	var syntax *op.SyntaxError
	if !errors.As(error(problems[0]), &syntax) || !strings.Contains(syntax.Msg, "without the id of its trace") {
		t.Errorf("problem %v", problems[0])
	}
}

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
