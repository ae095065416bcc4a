package parquet_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/parquet"
)

// writeJob writes some steps of two ranks.
func writeJob(w *parquet.Writer) error {
	var errs []error
	for rank := range int64(2) {
		errs = append(errs, w.Resource(&op.Resource{
			Service: "trainer", Rank: op.Known(rank), WorldSize: op.Known(2), Host: fmt.Sprint("node-", rank),
			Attrs: []op.Attr{{Key: "host.name", Value: fmt.Sprint("node-", rank)}},
		}))
		at := int64(1_760_000_000_000_000_000)
		for step := range int64(20) {
			entry := func(name string, kind op.Kind, start, duration int64) *op.Entry {
				return &op.Entry{
					Step: op.Known(step), Operation: name, Kind: kind, DeviceID: "cuda:0", Rank: op.Known(rank),
					Service: "trainer",
					Start:   op.Known(start), Duration: duration, TraceID: op.TraceID{byte(rank), 1},
					SpanID: op.SpanID{byte(rank), byte(step), byte(start)},
				}
			}
			computed := 100 + (step*37+rank*53)%90
			host := entry("matmul", op.KindCompute, at-50, 10)
			host.Side = op.SideHost
			reduce := entry("all_reduce", op.KindCollective, at+computed, 300-computed)
			reduce.Collective = &op.Collective{Name: "all_reduce", Group: "dp", Sequence: op.Known(step)}
			errs = append(errs, w.Entry(host), w.Entry(entry("matmul", op.KindCompute, at, computed)), w.Entry(reduce),
				w.Span(&op.Span{Name: "step", Start: op.Known(at), Duration: 400,
					SpanID: op.SpanID{9, byte(rank), byte(step)}}))
			at += 1000
		}
	}
	return errors.Join(append(errs, w.Close())...)
}

// writeQueries writes the blocks of a language in docs/queries.md to a file.
func writeQueries(t *testing.T, language, path string) {
	t.Helper()
	text := check.Must(os.ReadFile("../docs/queries.md"))(t)
	var blocks []string
	for _, block := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(string(text),
		-1) {
		blocks = append(blocks, block[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("the document has no block of %s", language)
	}
	check.OK(t, os.WriteFile(path, []byte(strings.Join(blocks, "\n")), 0o600))
}

// answersOf runs the queries in dir by an engine. It skips the test without the engine.
func answersOf(t *testing.T, engine, dir string) []byte {
	t.Helper()
	if _, err := os.Stat("peers/node_modules"); err != nil {
		t.Skip("there is no engine: npm install in parquet/peers, as .ci/queries does")
	}
	cmd := exec.CommandContext(t.Context(), "node", "peers/queries.mjs", engine, dir)
	cmd.Stderr = os.Stderr
	return check.Must(cmd.Output())(t)
}

// The queries of the documentation give the figures of the report.
func TestQueriesOfOtherEngines(t *testing.T) {
	dir := t.TempDir()
	var pages bytes.Buffer
	check.OK(t, writeJob(parquet.NewWriter(&pages)))
	check.OK(t, os.WriteFile(filepath.Join(dir, "ops.parquet"), pages.Bytes(), 0o600))
	report := check.Must(analyze.Run(t.Context(), ingest.Open(filepath.Join(dir, "ops.parquet")), analyze.Options{}))(t)
	// Numbers are compared as text, because JavaScript lacks integers of 64 bits.
	type row = map[string]string
	var operations, devices []row
	for _, o := range report.Operations {
		if o.Side == "" {
			operations = append(operations, row{"operation": o.Operation, "calls": fmt.Sprint(o.Count),
				"sum_ns": fmt.Sprint(o.SumNS)})
		}
	}
	for _, d := range report.Devices {
		devices = append(devices, row{
			"rank": d.Rank.String(), "device_id": d.DeviceID, "calls": fmt.Sprint(d.Count),
			"sum_ns":  fmt.Sprint(d.SumNS),
			"span_ns": d.SpanNS.String(),
		})
	}
	if len(devices) == 2 && devices[0]["rank"] != "0" {
		devices[0], devices[1] = devices[1], devices[0]
	}
	c := report.Communication.Collectives[0]
	collectives := []row{{
		"name": c.Name, "grp": c.Group, "n": fmt.Sprint(c.Count), "transfer_ns": c.TransferNS.String(),
		"wait_ns":           c.WaitNS.String(),
		"max_start_skew_ns": c.MaxStartSkewNS.String(),
	}}
	resources := []row{{"service": "trainer", "rank": "0", "host": "node-0"},
		{"service": "trainer", "rank": "1", "host": "node-1"}}
	metadata := []row{{"key": "optrace.schema", "value": op.Schema}}
	for _, engine := range []struct {
		name, language, file string
		want                 [][]row
	}{
		{"duckdb", "sql", "queries.sql", [][]row{operations, devices, collectives, resources, metadata}},
		{"polars", "js", "queries.js", [][]row{operations, devices}},
	} {
		t.Run(engine.name, func(t *testing.T) {
			writeQueries(t, engine.language, filepath.Join(dir, engine.file))
			var got [][]row
			check.OK(t, json.Unmarshal(answersOf(t, engine.name, dir), &got))
			check.Equal(t, fmt.Sprintf("%s against report", engine.name), engine.want, got)
		})
	}
}
