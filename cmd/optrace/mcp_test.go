package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/optrace/optrace/internal/check"
)

// The command answers a client of the protocol's own SDK, and ends with it.
func TestMCP(t *testing.T) {
	dir := t.TempDir()
	writeOps(t, filepath.Join(dir, "ops.jsonl"), 0, 10)
	c := check.Must(mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(
		t.Context(), &mcp.CommandTransport{Command: exec.CommandContext(t.Context(), "optrace", "mcp", dir)}, nil))(t)
	for _, tool := range []string{"overview", "table", "doctor", "request"} {
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"inputs": []string{"ops.jsonl"}}})
		if err != nil {
			t.Fatalf("%s: %v", tool, err)
		}
		if text := r.Content[0].(*mcp.TextContent).Text; r.IsError || !strings.Contains(text, "1 file") {
			t.Errorf("%s: %s", tool, text)
		}
	}
	check.OK(t, c.Close())
}
