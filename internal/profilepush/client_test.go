package profilepush

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/optrace/optrace/internal/testing/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClient(tb testing.TB, address string) *Client {
	tb.Helper()
	c := check.Must(NewClient(address, nil))(tb)
	tb.Cleanup(c.close)
	return c
}

func message(tb testing.TB, text string) Message {
	tb.Helper()
	m := check.Must(Compress(func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}))(tb)
	return m
}

func textOf(tb testing.TB, r *http.Request) string {
	tb.Helper()
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		tb.Error(err)
		return ""
	}
	z.Multistream(false) // what follows only makes it larger
	text, err := io.ReadAll(z)
	if err != nil {
		tb.Error(err)
	}
	return string(text)
}

func TestPost(t *testing.T) {
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method, r.URL.Path, textOf(t, r))
		for _, key := range []string{"Content-Type", "Content-Encoding", "Otlp-Profiles-Development-Version"} {
			got = append(got, r.Header.Get(key))
		}
	}))
	defer s.Close()
	for address, path := range map[string]string{
		s.URL: Path, s.URL + "/": Path, s.URL + "/in/take": "/in/take", s.URL + "/in/take/#x": "/in/take/",
	} {
		got = nil
		if a, err := newClient(t, address).Post(t.Context(), message(t, "profile")); err != nil || a != (Answer{}) {
			t.Fatal(a, err)
		}
		check.Equal(t, address, []string{"POST", path, "profile", "application/x-protobuf", "gzip", "1"}, got)
	}
}

func TestAddresses(t *testing.T) {
	for _, address := range []string{
		"", "localhost:4318", "ftp://a", "http://", "file:///etc/passwd", "http://user:geheim@a b", "http://[::1", "host?token=geheim",
	} {
		_, err := NewClient(address, nil)
		if err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v", address, err)
		}
	}
	check.Equal(t, "shown as", "https://user:xxxxx@host:1/x", newClient(t, "https://user:geheim@host:1/x").URL())
	check.Equal(t, "shown as", "https://host/x?…", newClient(t, "https://host/x?token=geheim").URL())
}

func partial(rejected int64, text string) string {
	var m []byte
	m = protowire.AppendVarint(protowire.AppendTag(m, 1, protowire.VarintType), uint64(rejected))
	m = protowire.AppendString(protowire.AppendTag(m, 2, protowire.BytesType), text)
	return string(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), m))
}

func TestAnswers(t *testing.T) {
	const proto, json = "application/x-protobuf", "application/json; charset=utf-8"
	status := string(protowire.AppendString(protowire.AppendTag([]byte{8, 3}, 2, protowire.BytesType), "no such\x1b tenant"))
	for _, test := range []struct {
		status            int
		kind, retry, body string
		want              Answer
		err               *RefusedError
		passes            bool
	}{
		{200, proto, "", "", Answer{}, nil, false},
		{200, proto, "", partial(2, "too\nold"), Answer{2, "too old"}, nil, false},
		{200, proto, "", partial(-2, strings.Repeat("ä", 600)), Answer{0, strings.Repeat("ä", 250) + "…"}, nil, false},
		{200, proto, "", partial(2, "")[:2], Answer{}, nil, false},
		{202, json, "", `{"partialSuccess":{"rejectedProfiles":"3","errorMessage":"why"}}`, Answer{3, "why"}, nil, false},
		{200, json, "", `{"partialSuccess":7}`, Answer{}, nil, false},
		{200, "text/html", "", "<html>", Answer{}, nil, false},
		{400, proto, "", status, Answer{}, &RefusedError{400, "no such  tenant", 0}, false},
		{401, json, "", `{"message":"who?"}`, Answer{}, &RefusedError{401, "who?", 0}, false},
		{404, "text/plain; charset=utf-8", "", "404 page not found\nx", Answer{}, &RefusedError{404, "404 page not found", 0}, false},
		{404, "text/html", "", "<html>", Answer{}, &RefusedError{404, "", 0}, false},
		{413, json, "9", `{`, Answer{}, &RefusedError{413, "", 9 * time.Second}, false},
		{429, "", "7", "", Answer{}, &RefusedError{429, "", 7 * time.Second}, true},
		{500, "", "", "", Answer{}, &RefusedError{500, "", 0}, false},
		{502, "", "-1", "", Answer{}, &RefusedError{502, "", 0}, true},
		{503, "", "86400", "", Answer{}, &RefusedError{503, "", maxRetryAfter}, true},
		{504, "", "Mon, 02 Jan 2006 15:04:05 GMT", "", Answer{}, &RefusedError{504, "", 0}, true},
		{304, "", "", "", Answer{}, &RefusedError{304, "", 0}, false},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", test.kind)
			if test.retry != "" {
				w.Header().Set("Retry-After", test.retry)
			}
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body) // of no use
		}))
		got, err := newClient(t, s.URL).Post(t.Context(), message(t, ""))
		refused, _ := errors.AsType[*RefusedError](err)
		if got != test.want || !cmp.Equal(refused, test.err) || err != nil && passes(err) != test.passes {
			t.Errorf("%d %q %q: %+v, error %v", test.status, test.kind, test.body, got, err)
		}
		s.Close()
	}
}

func TestRetryAfterDate(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"Sun, 01 Mar 2026 12:00:20 GMT": 20 * time.Second, "Sun, 01 Mar 2026 11:59:00 GMT": 0,
		"Sun, 01 Mar 2126 12:00:20 GMT": maxRetryAfter, "soon": 0, "99999999999999999999": 0,
	} {
		check.Equal(t, fmt.Sprintf("%q", header), want, retryAfter(header, now))
	}
}

// What is sent goes to the host of the address only, as a whole or not at all.
func TestRedirects(t *testing.T) {
	strangers := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strangers++ }))
	defer other.Close()
	taken := ""
	mux := http.NewServeMux()
	mux.Handle("/other", http.RedirectHandler(other.URL, http.StatusPermanentRedirect))
	mux.Handle("/get", http.RedirectHandler("/take", http.StatusFound))
	mux.Handle("/again", http.RedirectHandler("/take", http.StatusTemporaryRedirect))
	mux.Handle("/loop", http.RedirectHandler("/loop", http.StatusTemporaryRedirect))
	mux.HandleFunc("/take", func(_ http.ResponseWriter, r *http.Request) { taken += r.Method + " " + textOf(t, r) })
	s := httptest.NewServer(mux)
	defer s.Close()
	for path, want := range map[string]string{
		"/other": "redirects to", "/get": "drops what is sent", "/loop": "too many redirects", "/again": "",
	} {
		_, err := newClient(t, s.URL+path).Post(t.Context(), message(t, "profile"))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", path, err, want)
		}
	}
	if taken != "POST profile" || strangers != 0 {
		t.Errorf("taken %q, by others %d", taken, strangers)
	}
}

// Whatever a receiver answers, what is shown of it is short and has no control characters.
func FuzzAnswer(f *testing.F) {
	f.Add("application/x-protobuf", []byte(partial(2, "text")))
	f.Add("application/json", []byte(`{"partialSuccess":{"rejectedProfiles":"3","errorMessage":"why"},"message":"m"}`))
	f.Add("text/plain", []byte("\x00\xff\u2028"))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		a := answer(kind, body)
		for _, text := range []string{a.Text, refusal(kind, body)} {
			if len(text) > maxText+len("…") || text != clean(text) && len(text) <= maxText || a.Rejected < 0 {
				t.Errorf("%+v, %q", a, text)
			}
		}
	})
}
