package snippets

import (
	"bytes"
	"flag"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/golden"
	"github.com/optrace/optrace/op"
)

var record = flag.Bool("record", false, "rewrite the recorded spans of the programs that can be run here")

// programs run one snippet each and return its OTLP in JSON. They skip the test if a tool is missing.
var programs = map[string]func(t *testing.T) []byte{
	"cpp": func(t *testing.T) []byte {
		needs(t, "g++")
		program := filepath.Join(t.TempDir(), "snippet")
		run(t, "g++", "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-o", program, "cpp/without_sdk.cpp")
		return run(t, program)
	},
	"rust": func(t *testing.T) []byte {
		needs(t, "rustc")
		program := filepath.Join(t.TempDir(), "snippet")
		run(t, "rustc", "--edition", "2021", "-O", "-D", "warnings", "-o", program, "rust/without_sdk.rs")
		return run(t, program)
	},
	"python": func(t *testing.T) []byte {
		python := pythonWithTorch(t)
		t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
		return run(t, python, "python/without_sdk.py")
	},
	"javascript": func(t *testing.T) []byte {
		var mu sync.Mutex
		var bodies bytes.Buffer // one per line
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			_, _ = bodies.ReadFrom(r.Body) // the comparison shows missing spans
			bodies.WriteByte('\n')
		}))
		defer server.Close()
		runJavaScript(t, server.URL)
		mu.Lock()
		defer mu.Unlock()
		return bodies.Bytes()
	},
}

// runJavaScript runs the JavaScript snippet with an endpoint.
func runJavaScript(t *testing.T, endpoint string) {
	t.Helper()
	if _, err := os.Stat("javascript/node_modules"); err != nil {
		t.Skip("its packages are not installed: npm ci in examples/snippets/javascript")
	}
	needs(t, "node")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	run(t, "node", "javascript/snippet.js")
}

// pythonWithTorch returns a Python interpreter with PyTorch.
func pythonWithTorch(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import torch").Run() == nil {
			return python
		}
	}
	t.Skip("needs a Python with PyTorch, which no CI has: some gigabytes")
	return ""
}

// needs skips the test if a program is missing or broken, such as rustup without a toolchain.
func needs(t *testing.T, program string) {
	t.Helper()
	if err := exec.CommandContext(t.Context(), program, "--version").Run(); err != nil {
		t.Skipf("needs %s, which .ci/snippets installs: %v", program, err)
	}
}

func run(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, errs.Bytes())
	}
	return out
}

// transcript returns the operations of a file, one per line, after the name of their parents, without values that vary
// between runs.
func transcript(t *testing.T, path string) string {
	t.Helper()
	names := make(map[op.SpanID]string)
	in := ingest.Open(path)
	var entries []*op.Entry
	for rec, err := range in.Records() {
		check.OK(t, err)
		if rec.Entry != nil {
			e := rec.Entry.Clone()
			names[e.SpanID] = e.Operation
			entries = append(entries, e)
		}
		if rec.Span != nil {
			names[rec.Span.SpanID] = rec.Span.Name
		}
	}
	var text strings.Builder
	for _, e := range entries {
		text.WriteString(names[e.ParentSpanID] + " < ")
		e.TraceID = op.TraceID{}
		e.SpanID = op.SpanID{}
		e.ParentSpanID = op.SpanID{}
		e.RootSpanID = op.SpanID{}
		e.Start = op.Int{}
		e.Duration = 0
		text.Write(append(e.AppendJSON(nil), '\n'))
	}
	return text.String()
}

// Spans recorded by real runs have the operations of the golden files.
func TestRecorded(t *testing.T) {
	for name := range programs {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", name)
			golden.Check(t, file+".golden", transcript(t, file+".jsonl"))
		})
	}
}

// The programs still produce the recorded operations.
func TestRun(t *testing.T) {
	if !*record {
		cases.Rare(t) // compilers and SDKs take seconds
	}
	for name := range cases.Of(t, 1, slices.Sorted(maps.Keys(programs))) {
		program := programs[name]
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name+".jsonl")
			want := transcript(t, path)
			spans := program(t)
			if !*record {
				path = filepath.Join(t.TempDir(), "spans.jsonl")
			}
			check.OK(t, os.WriteFile(path, spans, 0o644))
			got := transcript(t, path)
			if name == "python" { // which operations there are depends on the version of PyTorch
				want = productsOf(want)
				got = productsOf(got)
			}
			check.Equal(t, "operations: now against recorded", want, got)
		})
	}
}

// productsOf returns the lines of a transcript with matrix products with a bias, without their parents: older versions
// of PyTorch round times to microseconds, which spoils some parents.
func productsOf(transcript string) string {
	var text strings.Builder
	for line := range strings.Lines(transcript) {
		if _, entry, ok := strings.Cut(line, " < "); ok && strings.Contains(entry, `"aten::addmm"`) {
			text.WriteString(entry)
		}
	}
	return text.String()
}
