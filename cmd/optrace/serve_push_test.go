package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"

	"github.com/optrace/optrace/internal/testing/check"
)

// What serve pushes until it ends has each operation once.
func TestServePush(t *testing.T) {
	var operations atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		request := pprofileotlp.NewExportRequest()
		if err := request.UnmarshalProto(check.Gunzip(t, r.Body)); err != nil {
			t.Error(err)
			return
		}
		texts := request.Profiles().Dictionary().StringTable()
		for _, p := range request.Profiles().ResourceProfiles().At(0).ScopeProfiles().At(0).Profiles().All() {
			for _, s := range p.Samples().All() {
				if texts.At(int(p.SampleType().TypeStrindex())) == "count" {
					operations.Add(s.Values().At(0))
				}
			}
		}
	}))
	defer receiver.Close()
	s := startServe(t, "-push", receiver.URL, "-push-interval", "1s", nestedFile(t))
	s.await(t, 6)
	if page := fetchText(t, s.page); !strings.Contains(page, "profiles pushed") {
		t.Error("the page does not tell about profiles")
	}
	s.end()
	check.Equal(t, "operations", 5, operations.Load()) // the sixth is the host's
}
