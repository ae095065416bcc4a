package loopback_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/optrace/optrace/internal/serve/loopback"
	"github.com/optrace/optrace/internal/testing/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHosts(t *testing.T) {
	hosts := loopback.Hosts{"build.example"}
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:4318": true, "[::1]:4318": true, "[::1]": true, "::1": true, "localhost": true,
		"LOCALHOST:80": true, "a.localhost:1": true, "localhost.": true, "10.0.0.7:4318": true,
		"build.example:4318": true, "Build.Example": true, "evil.example": false, "evil.example:4318": false,
		"127.0.0.1.evil.example": false, "localhost.evil.example": false, "": false, "notlocalhost": false,
		"127.0.0.1@evil.example": false, "0x7f.1": false,
	} {
		check.Equal(t, fmt.Sprintf("%q", host), want, hosts.Allow(host))
	}
}

func TestHandler(t *testing.T) {
	h := loopback.Hosts{}.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok")
	}))
	for name, c := range map[string]struct {
		method, host, site, mode, dest string
		want                           int
	}{
		"page":                    {"GET", "127.0.0.1:8318", "", "", "", 200},
		"rebound":                 {"GET", "evil.example", "", "", "", 421},
		"post of a tool":          {"POST", "localhost:4318", "", "", "", 200},
		"post of a site":          {"POST", "localhost:4318", "cross-site", "", "", 403},
		"post, same origin":       {"POST", "localhost:4318", "same-origin", "cors", "empty", 200},
		"address typed":           {"GET", "localhost", "none", "navigate", "document", 200},
		"fetch of the page":       {"GET", "localhost", "same-origin", "cors", "empty", 200},
		"fetch of a site":         {"GET", "localhost", "cross-site", "no-cors", "empty", 403},
		"fetch of another port":   {"GET", "localhost", "same-site", "cors", "empty", 403},
		"image of a site":         {"GET", "localhost", "cross-site", "no-cors", "image", 403},
		"frame of a site":         {"GET", "localhost", "cross-site", "navigate", "iframe", 403},
		"link of a site":          {"GET", "localhost", "cross-site", "navigate", "document", 200},
		"link of another port":    {"GET", "localhost", "same-site", "navigate", "document", 200},
		"form of a site, by POST": {"POST", "localhost", "cross-site", "navigate", "document", 403},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, "/", nil)
		r.Host = c.host
		for header, value := range map[string]string{"Site": c.site, "Mode": c.mode, "Dest": c.dest} {
			if value != "" {
				r.Header.Set("Sec-Fetch-"+header, value)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		check.Equal(t, name, c.want, w.Code)
	}
}

func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := check.Must(loopback.Listen(ctx, "127.0.0.1:0"))(t)
	started := make(chan struct{})
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(started)
			<-r.Context().Done()
		}
	})
	served := make(chan error, 1)
	go func() { served <- loopback.Serve(ctx, l, h) }()
	url := "http://" + l.Addr().String()
	answer := check.Must(http.Get(url))(t)
	_ = answer.Body.Close()

	// Send a header that is too large, and one without end.
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	request.Header.Set("X", strings.Repeat("x", 2*loopback.MaxHeaderBytes))
	if answer, err := http.DefaultClient.Do(request); err == nil {
		if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("large header: %s", answer.Status)
		}
		_ = answer.Body.Close()
	}
	conn := check.Must((&net.Dialer{}).DialContext(ctx, "tcp", l.Addr().String()))(t)
	defer conn.Close()
	check.Must(io.WriteString(conn, "GET / HTTP/1.1\r\nHost:"))(t)

	// A running request does not keep the server from ending.
	go func() {
		if answer, err := http.Get(url + "/slow"); err == nil {
			_ = answer.Body.Close()
		}
	}()
	<-started
	cancel()
	select {
	case err := <-served:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the server does not end")
	}
	http.DefaultClient.CloseIdleConnections()
}

// S3: idle connections take no other client's place.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := check.Must(loopback.Listen(ctx, "127.0.0.1:0"))(t)
	served := make(chan error, 1)
	go func() {
		served <- loopback.Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "ok")
		}))
	}()
	start := time.Now()
	for i := range loopback.MaxConnections + 100 {
		client := http.Client{Transport: new(http.Transport)}
		defer client.CloseIdleConnections()
		answer, err := client.Get("http://" + l.Addr().String())
		if err != nil {
			t.Fatalf("client %d: %v", i, err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	if took := time.Since(start); took > loopback.IdleTimeout/2 {
		t.Errorf("took %v", took)
	}
	cancel()
	check.OK(t, <-served)
}
