package snippets

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/program"
)

// The spans of the JavaScript SDK arrive at optrace serve.
func TestJavaScriptServed(t *testing.T) {
	addresses := serve(t, program.Optrace(t, "../.."))
	runJavaScript(t, strings.TrimSuffix(addresses["OTLP/HTTP"], "/v1/traces"))
	answer := check.Must(http.Get(addresses["page"] + "?format=json"))(t)
	defer answer.Body.Close()
	type operation struct {
		Operation string  `json:"operation"`
		Count     int     `json:"count"`
		Memory    int64   `json:"memory_bytes"`
		FLOPs     float64 `json:"flops"`
	}
	var report struct {
		Operations []operation `json:"operations"`
		Slowest    struct {
			Name    string `json:"name"`
			Service string `json:"service"`
		} `json:"slowest_request"`
	}
	check.OK(t, json.NewDecoder(answer.Body).Decode(&report))
	want := map[string]operation{
		"matmul": {"matmul", 1, 65536, 2 * 64 * 784 * 256}, "relu": {"relu", 1, 65536, 64 * 256},
		"sum": {"sum", 1, 4, 64 * 256},
	}
	got := make(map[string]operation)
	for _, o := range report.Operations {
		got[o.Operation] = o
	}
	check.Equal(t, "operations", want, got)
	if s := report.Slowest; s.Name != "POST /predict" || s.Service != "snippet" {
		t.Errorf("the slowest request is %q of %q", s.Name, s.Service)
	}
}

// serve starts optrace serve on free ports and returns its printed addresses by name. The end of the test interrupts it
// and checks its exit.
func serve(t *testing.T, program string) map[string]string {
	t.Helper()
	const any = "127.0.0.1:0"
	ctx := context.WithoutCancel(t.Context()) // interrupted, not killed
	cmd := exec.CommandContext(ctx, program, "serve", "-listen", any, "-otlp-http", any, "-otlp-grpc", any)
	cmd.Stderr = os.Stderr
	out := check.Must(cmd.StdoutPipe())(t)
	check.OK(t, cmd.Start())
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		check.OK(t, cmd.Process.Signal(os.Interrupt))
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
