package mcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/causes"
	"github.com/optrace/optrace/internal/check"
)

var sections = []string{"summary", "findings", "operations", "devices", "slowest", "idle", "critical_path", "sequences", "steps",
	"communication", "memory", "launches", "balance"}

func connect(t *testing.T, opts Options) *mcp.ClientSession {
	t.Helper()
	opts.Sections = sections
	if opts.Timeout == 0 {
		opts.Timeout = time.Minute
	}
	s := check.Must(New(opts))(t)
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background(), fromClient, toClient) }()
	session := check.Must(mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(
		t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil))(t)
	t.Cleanup(func() {
		_ = session.Close()
		_ = toServer.Close()
		check.OK(t, <-done)
	})
	return session
}

// call returns the text of an answer, and whether it is an error.
func call(t *testing.T, c *mcp.ClientSession, tool string, args map[string]any) (text string, failed bool) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
	for _, content := range r.Content {
		text += content.(*mcp.TextContent).Text
	}
	if len(text) > MaxAnswer {
		t.Errorf("%s %v: %d bytes", tool, args, len(text))
	}
	return text, r.IsError
}

// writeRun writes the recording of a run with a cause.
func writeRun(t *testing.T, dir, name, cause string, strength float64, seed uint64) {
	t.Helper()
	var text bytes.Buffer
	check.OK(t, causes.Write(&text, cause, strength, seed))
	check.OK(t, os.WriteFile(filepath.Join(dir, name), text.Bytes(), 0o600))
}

func TestTools(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, "base.jsonl", causes.Training, 0, 1)
	writeRun(t, dir, "head.jsonl", "operation", 0.5, 2)
	writeRun(t, dir, "serve.jsonl", "slow_request", 0.5, 3)
	c := connect(t, Options{Directories: []string{dir}})
	tools := check.Must(c.ListTools(t.Context(), nil))(t)
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
		if a := tool.Annotations; !a.ReadOnlyHint || *a.OpenWorldHint {
			t.Errorf("%s: %+v", tool.Name, a)
		}
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"compare", "doctor", "operation", "overview", "request", "table"}, names); diff != "" {
		t.Error(diff)
	}
	head, serve := []string{"head.jsonl"}, []string{filepath.Join(dir, "serve.jsonl")}
	for _, tt := range []struct {
		tool   string
		args   map[string]any
		says   []string
		failed bool
	}{
		{"overview", map[string]any{"inputs": head}, []string{"The bound is", "layer_05", "→ "}, false},
		{"table", map[string]any{"inputs": head, "section": "steps", "top": 3}, []string{"STEPS"}, false},
		{"table", map[string]any{"inputs": head, "by": "rank,kind"}, []string{"BY RANK, KIND"}, false},
		{"table", map[string]any{"inputs": head, "where": map[string]string{"operation": "layer_05"}}, []string{"layer_05", "filtered"}, false},
		{"operation", map[string]any{"inputs": head, "name": "LAYER_05"},
			[]string{"layer_05", "BY DEVICE, SHAPE", "SLOWEST", "Of the whole run: "}, false},
		{"request", map[string]any{"inputs": serve}, []string{"generate"}, false},
		{"compare", map[string]any{"base": []string{"base.jsonl"}, "head": head}, []string{"layer_05", "slower"}, false},
		{"doctor", map[string]any{"inputs": head}, []string{"LOOKED FOR", "tensor.device.id"}, false},

		{"overview", map[string]any{"inputs": []string{}}, []string{"no input", "base.jsonl"}, true},
		{"overview", map[string]any{"inputs": []string{"absent.jsonl"}}, []string{"absent.jsonl is no file", "base.jsonl"}, true},
		{"overview", map[string]any{"inputs": []string{"-"}}, []string{"- is no file"}, true},
		{"table", map[string]any{"inputs": head, "section": "colours"}, []string{`no section "colours"`, "critical_path"}, true},
		{"table", map[string]any{"inputs": head, "by": "colour"}, []string{`"colour" is none of operation, kind`}, true},
		{"table", map[string]any{"inputs": head, "where": map[string]string{"colour": "red"}},
			[]string{`"colour" is none of operation, kind`}, true},
		{"operation", map[string]any{"inputs": head, "name": "layer_0"}, []string{"10 operations have", "layer_05"}, true},
		{"operation", map[string]any{"inputs": head, "name": "nothing such"}, []string{"no operation has the name", "layer_05"}, true},
		{"request", map[string]any{"inputs": serve, "trace_id": "12"}, []string{"no trace id"}, true},
		{"request", map[string]any{"inputs": serve, "trace_id": strings.Repeat("ab", 16)}, []string{"no request of the trace"}, true},
		{"compare", map[string]any{"base": head, "head": []string{}}, []string{"base and head"}, true},
	} {
		text, failed := call(t, c, tt.tool, tt.args)
		if failed != tt.failed {
			t.Errorf("%s %v: failed %v: %s", tt.tool, tt.args, failed, text)
		}
		for _, says := range tt.says {
			if !strings.Contains(text, says) {
				t.Errorf("%s %v does not say %q:\n%s", tt.tool, tt.args, says, text)
			}
		}
	}
}

// Nothing outside of the directories is read, by whatever way its path leads there.
func TestDirectories(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	writeRun(t, outside, "secret.jsonl", causes.Training, 0, 1)
	writeRun(t, dir, "in.jsonl", causes.Training, 0, 1)
	for link, to := range map[string]string{"file.jsonl": filepath.Join(outside, "secret.jsonl"), "dir": outside, "within.jsonl": "in.jsonl"} {
		check.OK(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	c := connect(t, Options{Directories: []string{dir}})
	outer := filepath.Join(outside, "secret.jsonl")
	relative := check.Must(filepath.Rel(dir, outer))(t)
	for _, in := range []string{outer, relative, "file.jsonl", "dir", "dir/secret.jsonl", outside, "/", "..", dir + "x"} {
		if text, failed := call(t, c, "overview", map[string]any{"inputs": []string{in}}); !failed ||
			!strings.Contains(text, "is no file or directory below") {
			t.Errorf("%s: %s", in, text)
		}
	}
	for _, in := range []string{"in.jsonl", "within.jsonl", ".", dir} { // links in a directory that is read are passed over
		if text, failed := call(t, c, "overview", map[string]any{"inputs": []string{in}}); failed || !strings.Contains(text, "1 file") {
			t.Errorf("%s: %s", in, text)
		}
	}
}

// A report is kept until the file changes, and the number of those kept is bounded.
func TestReportsAreKept(t *testing.T) {
	dir := t.TempDir()
	s := check.Must(New(Options{Directories: []string{dir}, Sections: sections}))(t)
	overview := func(in string) string {
		text, _, err := s.overview(t.Context(), inputsArgs{[]string{in}})
		check.OK(t, err)
		return text
	}
	writeRun(t, dir, "a", causes.Training, 0, 1)
	first := overview("a")
	if overview("a") != first || len(s.reports) != 1 {
		t.Errorf("%d reports of one input", len(s.reports))
	}
	writeRun(t, dir, "a", "lossy", 0.5, 1)
	if overview("a") == first {
		t.Error("the report of a file that was replaced")
	}
	for i := range 2 * maxReports {
		name := fmt.Sprint("run", i)
		writeRun(t, dir, name, causes.Serving, 0, uint64(i))
		overview(name)
	}
	check.Equal(t, "reports are kept", maxReports, len(s.reports))
}

func TestLimits(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, "a", causes.Training, 0, 1)
	for says, opts := range map[string]Options{"longer than 1ns": {Timeout: 1}, "-max-memory": {Memory: 1 << 10}} {
		opts.Directories = []string{dir}
		if text, failed := call(t, connect(t, opts), "overview", map[string]any{"inputs": []string{"a"}}); !failed ||
			!strings.Contains(text, says) {
			t.Errorf("%+v: %s", opts, text)
		}
	}
	long := strings.Repeat("a line\n", MaxAnswer)
	if got := cut(long, "ask again"); len(got) > MaxAnswer || !strings.HasSuffix(got, "lines were left out: ask again\n") {
		t.Errorf("%d bytes", len(got))
	}
	_, err := New(Options{Directories: []string{filepath.Join(dir, "absent")}})
	check.Says(t, "a directory that is not there", "", err)
}

// An assistant that asks for the overview and then for the sections that its findings name has read the cause after three
// calls, for nine of ten runs with a cause.
func TestCausesAreFound(t *testing.T) {
	dir := t.TempDir()
	c := connect(t, Options{Directories: []string{dir}})
	arrow := regexp.MustCompile(`→\s+([a-z_]+)`)
	found, runs, seeds := 0, 0, cases.Count(t, 1, 20)
	for i := range causes.Causes {
		cause := &causes.Causes[i]
		for seed := range seeds {
			runs++
			writeRun(t, dir, "run", cause.Name, 2*cause.From, uint64(seed))
			args := map[string]any{"inputs": []string{"run"}}
			text, _ := call(t, c, "overview", args)
			first := text
			asked := 1
			for _, m := range arrow.FindAllStringSubmatch(text, -1) {
				if asked < 3 && slices.Contains(sections, m[1]) {
					answer, _ := call(t, c, "table", map[string]any{"inputs": []string{"run"}, "section": m[1]})
					text += answer
					asked++
				}
			}
			if strings.Contains(text, cause.Says) {
				found++
			} else {
				t.Logf("%s, seed %d:\n%s", cause.Name, seed, first)
			}
		}
	}
	if 10*found < 9*runs {
		t.Errorf("found the causes of %d of %d runs", found, runs)
	}
}
