package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/receiver"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
)

// serving runs optrace serve until end is called. end returns the exit code.
type serving struct {
	page string // its address
	end  func() int
}

func startServe(t *testing.T, args ...string) *serving {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, stdout := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"serve", "-listen", "127.0.0.1:0", "-otlp-http", "-", "-otlp-grpc", "-"},
			args...), nil, stdout, &stderr)
		_ = stdout.Close()
	}()
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatalf("serve ended with %d: %s", <-code, &stderr)
	}
	page, ok := strings.CutPrefix(lines.Text(), "page       ")
	if !ok {
		t.Fatalf("printed %q", lines.Text())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	s := &serving{page: page, end: func() int {
		cancel()
		n := <-code
		code <- n
		return n
	}}
	t.Cleanup(func() {
		if n := s.end(); n != exit.OK {
			t.Errorf("serve ended with %d: %s", n, &stderr)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

func fetchText(t *testing.T, address string) string {
	t.Helper()
	r := check.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))(t)
	answer := check.Must(http.DefaultClient.Do(r))(t)
	defer answer.Body.Close()
	text := check.Must(io.ReadAll(answer.Body))(t)
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", address, answer.Status)
	}
	return string(text)
}

func reportIn(t *testing.T, text string) map[string]any {
	t.Helper()
	var r map[string]any
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	return r
}

// await fetches the report until it has n operations.
func (s *serving) await(t *testing.T, n int) string {
	t.Helper()
	for range 3000 {
		text := fetchText(t, s.page+"?format=json")
		if has, _ := reportIn(t, text)["input"].(map[string]any)["entries"].(float64); int(has) >= n {
			return text
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the server does not have %d operations", n)
	return ""
}

func writeOps(t *testing.T, path string, from, to int) {
	t.Helper()
	f := check.Must(os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))(t)
	w := entries.NewWriter(f, nil)
	for i := from; i < to; i++ {
		e := &op.Entry{
			Operation: fmt.Sprint("op", i%7), DeviceID: fmt.Sprint("cuda:", i%3), Kind: op.KindCompute,
			Start: op.Known(int64(i) * 1000), Duration: int64(i%300 + 1),
			OutputShape: op.Shape{2, 3}, Step: op.Known(int64(i / 100)),
		}
		check.OK(t, w.Entry(e))
	}
	check.OK(t, w.Flush())
	check.OK(t, f.Close())
}

// The server's report equals report -json on the same files, while they grow and rotate.
func TestServeFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ops.jsonl")
	writeOps(t, path, 0, 500)
	s := startServe(t, path)
	d := startServe(t, dir)
	verify := func(n int) {
		t.Helper()
		want := succeeds(t, "report", "-json", dir)
		for name, serving := range map[string]*serving{"file": s, "directory": d} {
			got := reportIn(t, serving.await(t, n))
			offline := reportIn(t, want)
			for _, r := range []map[string]any{got, offline} {
				delete(r["input"].(map[string]any), "files") // a rotated file is one input
			}
			check.Equal(t, fmt.Sprintf("%s of %d operations: serve against report", name, n), offline, got)
		}
	}
	verify(500)
	writeOps(t, path, 500, 800)
	verify(800)
	check.OK(t, os.Rename(path, filepath.Join(dir, "ops-1.jsonl")))
	writeOps(t, path, 800, 1000)
	verify(1000)
	pattern := regexp.MustCompile(`(?m)^tensor_op_duration_seconds_count\{.*\} (\d+)$`)
	counts := pattern.FindAllStringSubmatch(fetchText(t, s.page+"metrics"), -1)
	total := 0
	for _, c := range counts {
		n, _ := strconv.Atoi(c[1])
		total += n
	}
	check.Equal(t, "/metrics: operations", 1000, total)
}

// The requests of engines equal the requests of report -json.
func TestServeEngines(t *testing.T) {
	paths := check.Must(filepath.Glob("testdata/figures/3[01235]_*.otlp.jsonl"))(t)
	want := reportIn(t, succeeds(t, append([]string{"report", "-json"}, paths...)...))["engines"].([]any)
	if len(want) != len(paths) {
		t.Fatalf("%d engines", len(want))
	}
	s := startServe(t, paths...)
	var got any
	less := func(a, b any) bool {
		return a.(map[string]any)["dialect"].(string) < b.(map[string]any)["dialect"].(string)
	}
	for range 500 {
		if got = reportIn(t, fetchText(t, s.page+"?format=json"))["engines"]; cmp.Equal(want, got,
			cmpopts.SortSlices(less)) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("files (-report +serve):\n%s", cmp.Diff(want, got))
}

func TestServeHostile(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	s := startServe(t)
	for path, want := range map[string]int{
		"": 200, "data": 200, "trace.json": 200, "other": 404, "..%2f..%2fetc/passwd": 404, "x/data": 404,
		"?format=../../etc/passwd": 400, "trace/4bf92f3577b34da6a3ce929d0e0e4736": 200, "trace/x": 404,
	} {
		for host, status := range map[string]int{"": want, "evil.example": 421} {
			r := check.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.page+path, nil))(t)
			if host != "" {
				r.Host = host
			}
			answer := check.Must(http.DefaultClient.Do(r))(t)
			_ = answer.Body.Close()
			if answer.StatusCode != status {
				t.Errorf("%q of %q: %s", path, host, answer.Status)
			}
		}
	}
}

func TestParseWindow(t *testing.T) {
	golden.Lines(t, "testdata/windows.txt", func(text string) string {
		limits, err := parseWindow(text)
		if err != nil {
			return "error"
		}
		return fmt.Sprintf("{%d %s %d}", limits.Records, limits.Age, limits.Bytes)
	})
}

// The page and the receiver name each other's address to misdirected clients.
func TestServeWrongPort(t *testing.T) {
	s := startServe(t)
	r := check.Must(http.Post(s.page+"v1/traces", "application/json", strings.NewReader("{}")))(t)
	defer r.Body.Close()
	if text, err := io.ReadAll(r.Body); err != nil || r.StatusCode != http.StatusNotFound ||
		string(text) != "this is the page; it receives no spans; its sources: none\n" {
		t.Errorf("%s: %q, error %v", r.Status, text, err)
	}
	w := httptest.NewRecorder()
	receiver.New(nil, nil, 0).Handler(s.page).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://127.0.0.1/", nil))
	want := "spans are received here, by POST to /v1/traces; the page is at " + s.page + "\n"
	if w.Code != http.StatusNotFound || w.Body.String() != want {
		t.Errorf("%d: %q, want %q", w.Code, w.Body, want)
	}
}
