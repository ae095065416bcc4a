package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	client "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/mcp"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/causes"
	"github.com/optrace/optrace/internal/testing/check"
)

// askMCP starts the command for the inputs below a directory. It ends with the client of the protocol's own SDK.
func askMCP(t *testing.T, args ...string) *client.ClientSession {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // until the session is closed
	cmd := exec.CommandContext(ctx, "optrace", append([]string{"mcp"}, args...)...)
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
	page := string(check.Must(os.ReadFile("testdata/mcp.md"))(t))
	checkCalls(t, c, strings.ReplaceAll(page, "DIR", dir))
	text, failed := call(t, c, "operation",
		map[string]any{"inputs": []string{"long.jsonl"}, "name": strings.Repeat("x", 60_000)})
	if !failed || !strings.Contains(text, "left out") {
		t.Errorf("a long name: failed %v: %s", failed, text)
	}
}

// checkCalls makes the calls of a page and returns their number. Each line below a call, "> TOOL ARGUMENTS", stands in
// its answer, in parts between "…". The answer has no bars and a structured form. A call "! TOOL ARGUMENTS" fails.
func checkCalls(t *testing.T, c *client.ClientSession, page string) (calls int) {
	t.Helper()
	plain := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	asked := ""
	answer := ""
	for line := range strings.Lines(page) {
		line, isAnswer := strings.CutPrefix(line, "    ")
		ask, isCall := strings.CutPrefix(line, "> ")
		ask, fails := strings.CutPrefix(ask, "! ")
		switch {
		case isAnswer && (isCall || fails):
			calls++
			asked = line
			tool, text, _ := strings.Cut(ask, " ")
			var args map[string]any
			check.OK(t, json.Unmarshal([]byte(text), &args))
			r := check.Must(c.CallTool(t.Context(), &client.CallToolParams{Name: tool, Arguments: args}))(t)
			answer = r.Content[0].(*client.TextContent).Text
			found, _ := r.StructuredContent.(map[string]any)
			if r.IsError != fails || strings.ContainsAny(answer, "█▓▏▍") ||
				!fails && (len(found) < 2 || found["note"] == nil) {
				t.Errorf("%s failed %v, has bars or no structure: %v\n%s", line, r.IsError, found, answer)
			}
		case isAnswer:
			for part := range strings.SplitSeq(plain(line), " … ") {
				if !strings.Contains(plain(answer), part) {
					t.Errorf("%s does not say %q:\n%s", asked, part, answer)
				}
			}
		}
	}
	return calls
}

// The examples of docs/agents.md are true.
func TestMCPExamplesOfTheDocumentation(t *testing.T) {
	dir := t.TempDir()
	for name, without := range map[string]bool{"base.jsonl": true, "head.jsonl": false} {
		var text bytes.Buffer
		check.OK(t, causes.Write(&text, "slow_layer", causes.Profile, without, 0.5, 1))
		check.OK(t, os.WriteFile(filepath.Join(dir, name), text.Bytes(), 0o600))
	}
	writeRun(t, dir, "server.jsonl", "long_prompt", causes.Server, 0.3, 1)
	h100 := filepath.Join(dir, "h100")
	check.OK(t, os.Mkdir(h100, 0o700))
	trace := check.Must(os.ReadFile("../../ingest/kineto/testdata/h100/sync.json.gz"))(t)
	check.OK(t, os.WriteFile(filepath.Join(h100, "sync.json.gz"), trace, 0o600))
	c := askMCP(t, dir, h100)
	_, page, _ := strings.Cut(string(check.Must(os.ReadFile("../../docs/agents.md"))(t)), "## Three examples")
	check.Equal(t, "calls", 11, checkCalls(t, c, page))
}

// The protocol is the same over HTTP, for clients that have the token and name this machine.
func TestMCPOverHTTP(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, dir, "a", "straggler", causes.TracePerStep, 0, 1)
	t.Setenv(tokenVariable, "")
	ctx, stop := context.WithCancel(t.Context())
	out, stdout := io.Pipe()
	code := make(chan int, 1)
	go func() { code <- run(ctx, []string{"mcp", "-http", ":0", dir}, nil, stdout, io.Discard) }()
	t.Cleanup(func() { stop(); check.Equal(t, "exit code", exit.OK, <-code) })
	var address, token string
	check.Must(fmt.Fscanf(out, "mcp %s\ntoken %s\n", &address, &token))(t)
	if !strings.HasPrefix(address, "http://127.0.0.1:") || len(token) < minToken {
		t.Errorf("%s, token %s", address, token)
	}
	for name, c := range map[string]struct {
		header, value string
		status        int
	}{
		"no token":      {"X-None", "", http.StatusUnauthorized},
		"another token": {"Authorization", "Bearer x", http.StatusUnauthorized},
		"another host":  {"Host", "evil.example", http.StatusMisdirectedRequest},
		"another site":  {"Sec-Fetch-Site", "cross-site", http.StatusForbidden},
	} {
		r := check.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader("{}")))(t)
		if r.Header.Set(c.header, c.value); c.header == "Host" {
			r.Host = c.value
		}
		answer := check.Must(http.DefaultClient.Do(r))(t)
		check.OK(t, answer.Body.Close())
		check.Equal(t, name, c.status, answer.StatusCode)
	}
	to := &client.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: bearer(token)}}
	session := check.Must(client.NewClient(&client.Implementation{Name: "test", Version: "1"}, nil).Connect(
		t.Context(), to, nil))(t)
	defer session.Close()
	if text, failed := call(t, session, "overview", map[string]any{"inputs": []string{"a"}}); failed ||
		!strings.Contains(text, "The bound is") {
		t.Error(text)
	}
}

// bearer sends requests with a token.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
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
