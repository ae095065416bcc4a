package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/internal/testing/check"
)

// What is pushed is what would be written.
func TestConvertPush(t *testing.T) {
	file := nestedFile(t)
	want, _ := converted(t, "otlp-profiles", file)
	var got []byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = check.Gunzip(t, r.Body)
		if r.URL.Path != "/v1development/profiles" || r.Header.Get("OTLP-Profiles-Development-Version") != "1" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer s.Close()
	code, stdout, stderr := ran(t, "convert", "-to", "otlp-profiles", "-push", s.URL, file)
	if code != exit.OK || stdout != "" || stderr != "optrace convert: pushed to "+s.URL+"/v1development/profiles\n" {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	check.Equal(t, "pushed", want, got)
}

func TestConvertPushFails(t *testing.T) {
	file := nestedFile(t)
	answers := map[string]http.HandlerFunc{
		"refuses": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no profiles here", http.StatusNotFound) },
		"rejects": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"partialSuccess":{"rejectedProfiles":"2","errorMessage":"too old"}}`)
		},
		"warns": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"partialSuccess":{"errorMessage":"nearly full"}}`)
		},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answers[strings.Trim(r.URL.Path, "/")](w, r) }))
	defer s.Close()
	for _, test := range []struct {
		args   []string
		code   int
		stderr string
	}{
		{[]string{"-push", s.URL + "/refuses", file}, exit.BadOutput, "/refuses: the receiver answers 404 Not Found: no profiles here\n"},
		{[]string{"-push", s.URL + "/rejects", file}, exit.BadOutput, `/rejects: 2 profiles were rejected: "too old"`},
		{[]string{"-push", s.URL + "/warns", file}, exit.OK, `/warns says "nearly full"`},
		{[]string{"-push", "http://127.0.0.1:1", file}, exit.BadOutput, "connection refused"},
		{[]string{"-push", s.URL, file + ".missing"}, exit.BadInput, "no such file"},
		{[]string{"-push", "localhost:4318", file}, exit.WrongUsage, `-push: "localhost:4318" is no http:// or https:// URL`},
		{[]string{"-push", "", file}, exit.WrongUsage, "-push"},
		{[]string{"-push", s.URL, "-o", "x", file}, exit.WrongUsage, "-push needs -to otlp-profiles, and no -o"},
		{[]string{"-push", s.URL, "-to", "otlp", file}, exit.WrongUsage, "-push needs -to otlp-profiles"},
	} {
		code, stdout, stderr := ran(t, append([]string{"convert", "-to", "otlp-profiles"}, test.args...)...)
		if code != test.code || stdout != "" || !strings.Contains(stderr, test.stderr) {
			t.Errorf("%q: exit %d, want %d; stdout %q, stderr %q", test.args, code, test.code, stdout, stderr)
		}
	}
}
