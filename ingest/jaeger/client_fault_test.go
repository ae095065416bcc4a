package jaeger_test

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

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
		"ftp://me:secret@host",
		"http://me:se?cret@host", "http://me:secret@", "http://me:sec ret@host:x", "http://me:secret@[::1",
		"host/?token=secret", "http://host:x/?token=secret", "ftp://host?secret",
		"", "localhost:16686", "ftp://host", "http://", ":",
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
