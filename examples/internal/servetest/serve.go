// Package servetest starts the command optrace serve for tests.
package servetest

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Start starts the program's command serve on free ports, and returns the addresses that it
// prints by their names. It is interrupted at the end of the test, and has to end well.
func Start(t testing.TB, program string) map[string]string {
	t.Helper()
	const any = "127.0.0.1:0"
	ctx := context.WithoutCancel(t.Context()) // it is interrupted, not killed
	cmd := exec.CommandContext(ctx, program, "serve", "-listen", any, "-otlp-http", any, "-otlp-grpc", any)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve ended with %v", err)
		}
	})
	addresses := make(map[string]string)
	lines := bufio.NewScanner(out)
	for len(addresses) < 3 && lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) == 2 {
			addresses[f[0]] = f[1]
		}
	}
	return addresses
}
