package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// setupJaeger gives a script a server with recorded answers, at $JAEGER, and the recorded answers, in $ANSWERS. The
// first part of the path selects the server's behaviour:
//
//	/v3       has both versions of the API
//	/v1       has version 1 only
//	/empty    has no traces
//	/nan      fails on a non-finite number, with version 1 only
//	/html     answers everything with a page
//	/cut      cuts its answers off
//	/hang     does not answer
//	/pruned   answers with pruned.json of the script
func setupJaeger(answers string) func(*testscript.Env) error {
	return func(env *testscript.Env) error {
		server := httptest.NewServer(recordedJaeger(answers, env.WorkDir))
		env.Defer(server.Close)
		env.Setenv("JAEGER", server.URL)
		env.Setenv("ANSWERS", answers)
		return nil
	}
}

// recordedJaeger answers with the files of a directory.
func recordedJaeger(answers, work string) http.Handler {
	file := func(w http.ResponseWriter, status int, path ...string) {
		w.WriteHeader(status)
		text, _ := os.ReadFile(filepath.Join(path...)) // the script shows missing files
		_, _ = w.Write(text)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mode, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		v3 := strings.HasPrefix(path, "api/v3/")
		version := ".v1.json"
		if v3 {
			version = ".v3.json"
		}
		kind, id, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path, "api/"), "v3/"), "/")
		switch {
		case kind != "traces" || mode == "html" || v3 && (mode == "v1" || mode == "nan"):
			file(w, http.StatusOK, answers, "page.html")
		case mode == "hang":
			<-r.Context().Done()
		case mode == "pruned":
			file(w, http.StatusOK, work, "pruned.json")
		case mode == "nan":
			file(w, http.StatusInternalServerError, answers, "nan.v1.json")
		case mode == "cut":
			_, _ = w.Write([]byte(`{"result":{"resourceSpans":[{"resource":`))
		case mode == "empty" && id == "" && !v3:
			_, _ = w.Write([]byte(`{"data":[],"total":0,"limit":0,"offset":0,"errors":null}`))
		case id == "" && mode != "empty":
			file(w, http.StatusOK, answers, "search"+version)
		case id == "896a370a13c0896250b9a5d5d164fe9d" && mode != "empty":
			file(w, http.StatusOK, answers, "trace"+version)
		default:
			file(w, http.StatusNotFound, answers, "unknown"+version)
		}
	})
}

// slowEnd is an input that takes some time to end.
type slowEnd struct{ before time.Time }

// Read returns the end of the input.
func (e *slowEnd) Read([]byte) (int, error) {
	e.before = time.Now()
	time.Sleep(5 * time.Millisecond)
	return 0, io.EOF
}

// The search of Jaeger covers the time during which the input was read.
func TestSearchAfterInput(t *testing.T) {
	var until time.Time
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to, err := time.Parse(time.RFC3339Nano, r.URL.Query().Get("query.start_time_max")); err == nil {
			until = to
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	in := new(slowEnd)
	run(t.Context(), []string{"correlate", "-jaeger", server.URL, "-service", "api", "-"}, in, io.Discard, io.Discard)
	if in.before.IsZero() || until.Before(in.before) {
		t.Errorf("searched until %v, the input ended after %v", until, in.before)
	}
}
