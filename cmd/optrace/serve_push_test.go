package main

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
)

// What serve pushes until it ends is, added up, what the file is converted to.
func TestServePush(t *testing.T) {
	file := nestedFile(t, "500")
	var mu sync.Mutex
	got := make(map[string][5]int64)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		message, err := io.ReadAll(z)
		if err != nil {
			t.Error(err)
		}
		request := pprofileotlp.NewExportRequest()
		if err := request.UnmarshalProto(message); err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for key, values := range profileSamples(request.Profiles()) {
			sum := got[key]
			for i := range sum {
				sum[i] += values[i]
			}
			got[key] = sum
		}
	}))
	defer receiver.Close()
	s := startServe(t, "-push", receiver.URL, "-push-interval", "1s", file)
	s.await(t, 6)
	if page := fetchText(t, s.page); !strings.Contains(page, "profiles pushed") {
		t.Error("the page does not tell about profiles")
	}
	s.end()
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff(otlpSamples(t, file), got); diff != "" || len(got) == 0 {
		t.Errorf("(-file +pushed):\n%s", diff)
	}
}

func TestServePushUsage(t *testing.T) {
	for _, args := range [][]string{{"-push", "nowhere"}, {"-push", "http://localhost", "-push-interval", "1ms"}} {
		if code := run(t.Context(), append([]string{"serve"}, args...), nil, io.Discard, io.Discard); code != exit.WrongUsage {
			t.Errorf("%q: exit %d", args, code)
		}
	}
	code := run(t.Context(), []string{
		"serve", "-listen", "127.0.0.1:0", "-otlp-http", "-", "-otlp-grpc", "-", "-for", "50ms", "-push", "http://127.0.0.1:1",
	}, nil, io.Discard, io.Discard)
	if code != exit.OK {
		t.Errorf("nothing to push: exit %d", code)
	}
}
