package findings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/optrace/optrace/op"
)

// replicas returns the requests of three engines on a host: of each a prompt and two tokens, every 30 ms. The operations
// of the second engine take slower times as long. Of sixteen requests the first extra ones go to it, too.
func replicas(slower float64, extra int) (records []op.Record) {
	var free [3]int64
	for i := range 120 {
		engine := i % 3
		if i%16 < extra {
			engine = 1
		}
		request := op.TraceID{6, byte(i), 1}
		arrival := (1_000 + 4*int64(i)) * ms
		at := max(arrival, free[engine])
		for step, tokens := range []int64{100 + int64(i%7)*20, 1, 1} {
			ns := 2*ms + tokens*10_000
			if engine == 1 {
				ns = int64(slower * float64(ns))
			}
			id := op.TraceID{7, byte(i), byte(step), 1}
			link := op.Link{TraceID: request, SpanID: op.SpanID{1}, Weight: op.Known(tokens)}
			run := matmulAt("engine", id, at, ns)
			run.Entry.DeviceID = fmt.Sprintf("cuda:%d", engine)
			records = append(records, spanAt("step", "engine", id, at, ns, link), run)
			at += ns
		}
		free[engine] = at
		records = append(records, spanAt("POST", "router", request, arrival, at-arrival))
	}
	return records
}

func TestReplicasThatDiffer(t *testing.T) {
	for name, c := range map[string]struct {
		records    []op.Record
		rule, says string // "" for no finding with the rule
	}{
		"a slow one":   {replicas(1.8, 0), "straggler", "cuda:1 takes 1.80 times as long as the 2 engines like it"},
		"more for one": {replicas(1, 9), "imbalance", "cuda:1 gets 5.27 times as many requests as the 2 engines like it"},
		"all alike":    {replicas(1, 0), "straggler", ""},
	} {
		f := only(found(t, c.records...), "straggler", "imbalance")
		if f.Rule != c.rule && c.says != "" || f.Rule != "" && c.says == "" || !strings.Contains(f.Text, c.says) {
			t.Errorf("%s: %s: %q, want %q", name, f.Rule, f.Text, c.says)
		}
	}
}
