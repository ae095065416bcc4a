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
