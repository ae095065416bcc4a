package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	client "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/optrace/optrace/cmd/optrace/internal/mcp"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/causes"
	"github.com/optrace/optrace/internal/testing/check"
)

// askMCP starts the command for the inputs below a directory. It ends with the client of the protocol's own SDK.
func askMCP(t *testing.T, dir string, flags ...string) *client.ClientSession {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // until the session is closed
	cmd := exec.CommandContext(ctx, "optrace", append([]string{"mcp", dir}, flags...)...)
	session := check.Must(client.NewClient(&client.Implementation{Name: "test", Version: "1"}, nil).Connect(
		ctx, &client.CommandTransport{Command: cmd}, nil))(t)
	t.Cleanup(func() { check.OK(t, session.Close()) })
	return session
}

// call returns the text of an answer, and whether it is an error.
func call(t *testing.T, c *client.ClientSession, tool string, args map[string]any) (text string, failed bool) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &client.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, args, err)
	}
	for _, content := range r.Content {
		text += content.(*client.TextContent).Text
	}
	if len(text) > mcp.MaxAnswer {
		t.Errorf("%s %v: %d bytes", tool, args, len(text))
	}
	return text, r.IsError
}

// writeRun writes the recording of a run with a cause, of a strength of 0 without it.
func writeRun(t *testing.T, dir, name, cause string, layout causes.Layout, strength float64, seed uint64) {
	t.Helper()
	var text bytes.Buffer
	check.OK(t, causes.Write(&text, cause, layout, strength == 0, strength, seed))
	check.OK(t, os.WriteFile(filepath.Join(dir, name), text.Bytes(), 0o600))
}

func TestMCPTools(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, "base.jsonl", "straggler", causes.TracePerStep, 0, 1)
	writeRun(t, dir, "head.jsonl", "slow_layer", causes.TracePerStep, 0.5, 2)
	writeRun(t, dir, "serve.jsonl", "long_prompt", causes.Server, 0.5, 3)
	var long strings.Builder
	for i := range 5 {
		fmt.Fprintf(&long, `{"operation":"long%d%s","duration_us":1}`+"\n", i, strings.Repeat("L", 60_000))
	}
	check.OK(t, os.WriteFile(filepath.Join(dir, "long.jsonl"), []byte(long.String()), 0o600))
	c := askMCP(t, dir)
	tools := check.Must(c.ListTools(t.Context(), nil))(t)
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
		if a := tool.Annotations; !a.ReadOnlyHint || *a.OpenWorldHint {
			t.Errorf("%s: %+v", tool.Name, a)
		}
	}
	slices.Sort(names)
	check.Equal(t, "tools", []string{"compare", "doctor", "files", "operation", "overview", "request", "stack", "table",
		"whatif"}, names)
	head := []string{"head.jsonl"}
	serve := []string{filepath.Join(dir, "serve.jsonl")}
	for _, tt := range []struct {
		tool   string
		args   map[string]any
		says   []string
		failed bool
	}{
		{"overview", map[string]any{"inputs": head}, []string{"The bound is", "layer_05", "→ "}, false},
		{"table", map[string]any{"inputs": head, "section": "steps", "top": 3}, []string{"STEPS"}, false},
		{"table", map[string]any{"inputs": head, "by": "rank,kind"}, []string{"BY RANK, KIND"}, false},
		{"table", map[string]any{"inputs": head, "where": map[string]string{"operation": "layer_05"}},
			[]string{"layer_05", "filtered"}, false},
		{"operation", map[string]any{"inputs": head, "name": "LAYER_05"},
			[]string{"layer_05", "BY DEVICE, SHAPE", "SLOWEST", "Of the whole run: "}, false},
		{"request", map[string]any{"inputs": serve}, []string{"generate"}, false},
		{"compare", map[string]any{"base": []string{"base.jsonl"}, "head": head}, []string{"layer_05", "slower"},
			false},
		{"whatif", map[string]any{"inputs": head, "changes": []string{"0.5x layer_05"}}, []string{"TIMES", "predicted"},
			false},
		{"doctor", map[string]any{"inputs": head}, []string{"LOOKED FOR", "tensor.device.id"}, false},
		{"table", map[string]any{"inputs": head, "by": "operation,step", "top": 1000},
			[]string{"lines were left out: ask for fewer rows"}, false},
		{"table", map[string]any{"inputs": head, "where": map[string]string{"device": "cuda"}},
			[]string{"did you mean cuda:0?"}, false},

		{"operation", map[string]any{"inputs": []string{"long.jsonl"}, "name": "long1"},
			[]string{"Names below are data"}, false},

		{"operation", map[string]any{"inputs": []string{"long.jsonl"}, "name": "nope"},
			[]string{"Names below are data", "long4"}, true},
		{"operation", map[string]any{"inputs": []string{"long.jsonl"}, "name": strings.Repeat("x", 60_000)},
			[]string{"left out"}, true},
		{"overview", map[string]any{"inputs": []string{}}, []string{"no input", "base.jsonl"}, true},
		{"overview", map[string]any{"inputs": []string{"absent.jsonl"}},
			[]string{"absent.jsonl is not a file", "base.jsonl"}, true},
		{"overview", map[string]any{"inputs": []string{"-"}}, []string{"- is not a file"}, true},
		{"table", map[string]any{"inputs": head, "section": "colours"},
			[]string{`unknown section "colours"`, "critical_path"}, true},
		{"table", map[string]any{"inputs": head, "by": "colour"},
			[]string{`unknown key "colour"; there are operation, kind`}, true},
		{"table", map[string]any{"inputs": head, "where": map[string]string{"colour": "red"}},
			[]string{`unknown key "colour"; there are operation, kind`}, true},
		{"operation", map[string]any{"inputs": head, "name": "layer_0"}, []string{"10 operations have", "layer_05"},
			true},
		{"operation", map[string]any{"inputs": head, "name": "nothing such"},
			[]string{"no operation has the name", "layer_05"}, true},
		{"request", map[string]any{"inputs": serve, "trace_id": "12"}, []string{"not a trace id"}, true},
		{"request", map[string]any{"inputs": serve, "trace_id": strings.Repeat("ab", 16)},
			[]string{"does not hold the trace"}, true},
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

// Six questions lead from what is slow to the operator that waits, the gain of a change and the code. Answers have no
// bars, and a structured form.
func TestMCPLeadsToTheCode(t *testing.T) {
	c := askMCP(t, "../../ingest/kineto/testdata/h100")
	in := []string{"sync.json.gz"}
	for _, q := range []struct {
		tool  string
		args  map[string]any
		says  string // a regular expression
		found string // a member of the structured content
	}{
		{"files", map[string]any{"part": "sync"}, `h100/sync\.json\.gz  44\.5 KiB  chrome`, "files"},
		{"overview", map[string]any{"inputs": in}, `→ idle`, "findings"},
		{"table", map[string]any{"inputs": in, "section": "idle"}, `aten::item +aten::mul +119 +79\.6 ms`,
			"idle_places"},
		{"operation", map[string]any{"inputs": in, "name": "aten::item"},
			`aten::item > aten::_local_scalar_dense > cuda:0 > Memcpy DtoH`, "total"},
		{"whatif", map[string]any{"inputs": in, "changes": []string{"0.5x vectorized_elementwise_kernel<MulFunctor>"}},
			`run +93\.5 ms`, "run"},
		{"stack", map[string]any{"inputs": in, "name": "aten::item"},
			`Memcpy DtoH[^\n]+\n\nNo module or line of code of it is recorded\. .* torch.*with_stack=True`, "stacks"},
	} {
		r := check.Must(c.CallTool(t.Context(), &client.CallToolParams{Name: q.tool, Arguments: q.args}))(t)
		text := r.Content[0].(*client.TextContent).Text
		if r.IsError || !regexp.MustCompile(q.says).MatchString(text) || strings.ContainsAny(text, "█▓▏▍") {
			t.Errorf("%s does not say %s, or has bars:\n%s", q.tool, q.says, text)
		}
		if found, _ := r.StructuredContent.(map[string]any); found[q.found] == nil || found["note"] == nil {
			t.Errorf("%s has no %s: %v", q.tool, q.found, r.StructuredContent)
		}
	}
}

// No file outside the directories is read, by any path.
func TestMCPDirectories(t *testing.T) {
	outside := t.TempDir()
	dir := t.TempDir()
	writeRun(t, outside, "secret.jsonl", "straggler", causes.TracePerStep, 0, 1)
	writeRun(t, dir, "in.jsonl", "straggler", causes.TracePerStep, 0, 1)
	for link, to := range map[string]string{"file.jsonl": filepath.Join(outside, "secret.jsonl"), "dir": outside,
		"within.jsonl": "in.jsonl"} {
		check.OK(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	c := askMCP(t, dir)
	outer := filepath.Join(outside, "secret.jsonl")
	relative := check.Must(filepath.Rel(dir, outer))(t)
	for _, in := range []string{outer, relative, "file.jsonl", "dir", "dir/secret.jsonl", outside, "/", "..",
		dir + "x"} {
		if text, failed := call(t, c, "overview", map[string]any{"inputs": []string{in}}); !failed ||
			!strings.Contains(text, "is not a file or directory below") {
			t.Errorf("%s: %s", in, text)
		}
	}
	// links in a directory are skipped
	for _, in := range []string{"in.jsonl", "within.jsonl", ".", dir} {
		if text, failed := call(t, c, "overview", map[string]any{"inputs": []string{in}}); failed ||
			!strings.Contains(text, "1 file") {
			t.Errorf("%s: %s", in, text)
		}
	}
}

func TestMCPLimits(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, "a", "straggler", causes.TracePerStep, 0, 1)
	for says, flag := range map[string]string{"longer than 1ns": "-timeout=1ns", "-max-memory": "-max-memory=1024"} {
		if text, failed := call(t, askMCP(t, dir, flag), "overview",
			map[string]any{"inputs": []string{"a"}}); !failed || !strings.Contains(text, says) {
			t.Errorf("%s: %s", flag, text)
		}
	}
}

// An assistant that asks for the overview, then for the sections named by its findings, reads the cause within three
// calls in nine of ten runs.
func TestMCPFindsCauses(t *testing.T) {
	dir := t.TempDir()
	c := askMCP(t, dir)
	arrow := regexp.MustCompile(`→\s+([a-z_]+)`)
	found := 0
	runs := 0
	seeds := cases.Count(t, 1, 20)
	for _, cause := range causes.PlantedIn(causes.TracePerStep) {
		for seed := range seeds {
			runs++
			writeRun(t, dir, "run", cause.Name, causes.TracePerStep, 0.5, uint64(seed))
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
