package snippets

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/examples/internal/servetest"
	"github.com/optrace/optrace/internal/program"
)

// What the SDK for JavaScript sends arrives at optrace serve.
func TestJavaScriptServed(t *testing.T) {
	addresses := servetest.Start(t, program.Optrace(t, "../.."))
	runJavaScript(t, strings.TrimSuffix(addresses["OTLP/HTTP"], "/v1/traces"))
	answer, err := http.Get(addresses["page"] + "?format=json")
	if err != nil {
		t.Fatal(err)
	}
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
	if err := json.NewDecoder(answer.Body).Decode(&report); err != nil {
		t.Fatal(err)
	}
	want := map[string]operation{
		"matmul": {"matmul", 1, 65536, 2 * 64 * 784 * 256}, "relu": {"relu", 1, 65536, 64 * 256}, "sum": {"sum", 1, 4, 64 * 256},
	}
	got := make(map[string]operation)
	for _, o := range report.Operations {
		got[o.Operation] = o
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
	if s := report.Slowest; s.Name != "POST /predict" || s.Service != "snippet" {
		t.Errorf("the slowest request is %q of %q", s.Name, s.Service)
	}
}
