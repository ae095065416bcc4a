package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
)

// record is a line of entries JSON Lines, as a program without optrace makes and reads it.
type record map[string]any

// randomRecords returns operations and spans with ids that several have, with parents that are missing, later or their own,
// without ids or starts, and many at the same times. None is its own parent or links to itself, which OTLP and Jaeger are not given.
func randomRecords(r *rand.Rand) (list []record) {
	n := 2 + r.IntN(20)
	id := func(n int) string { return fmt.Sprintf("%016x", 1+r.IntN(n)) }
	maybe := func(to record, key string, value any) {
		if r.IntN(2) == 0 {
			to[key] = value
		}
	}
	for range n {
		rec := record{"start_unix_ns": 1_700_000_000_000_000_000 + r.Int64N(20)*700, "duration_ns": r.Int64N(20) * 700}
		if r.IntN(10) > 0 {
			rec["trace_id"], rec["span_id"] = fmt.Sprintf("%032x", 1+r.IntN(2)), id(n)
			if parent := id(n + 1); parent != rec["span_id"] {
				maybe(rec, "parent_span_id", parent)
			}
		}
		maybe(rec, "service", "api")
		for r.IntN(5) == 0 {
			links, _ := rec["links"].([]any)
			link := map[string]any{"trace_id": fmt.Sprintf("%032x", 1+r.IntN(2)), "span_id": id(n)}
			maybe(link, "weight", r.Int64N(9))
			if link["trace_id"] != rec["trace_id"] || link["span_id"] != rec["span_id"] {
				rec["links"] = append(links, link)
			}
		}
		if r.IntN(3) == 0 && rec["trace_id"] != nil {
			rec["name"] = []string{"POST /", "step", "größe \"x\""}[r.IntN(3)]
			if rec["parent_span_id"] != nil {
				maybe(rec, "parent_remote", true)
			}
			maybe(rec, "failed", true)
			list = append(list, rec)
			continue
		}
		if r.IntN(10) == 0 {
			delete(rec, "start_unix_ns")
		}
		rec["operation"] = []string{"matmul", "relu", "größe \"x\";y"}[r.IntN(3)]
		rec["kind"] = []string{"compute", "collective", "memory"}[r.IntN(3)]
		rec["duration_us"] = float64(rec["duration_ns"].(int64)) / 1000
		maybe(rec, "device_id", fmt.Sprint("cuda:", r.IntN(2)))
		for _, key := range []string{"step", "stream", "rank", "flops", "launch_unix_ns"} {
			maybe(rec, key, r.Int64N(3)+1)
		}
		switch r.IntN(3) {
		case 0:
			out := []struct {
				shape    []any
				elements int
			}{{[]any{2, 3}, 6}, {[]any{}, 1}, {[]any{0, 4}, 0}}[r.IntN(3)]
			rec["dtype"], rec["output_shape"], rec["output_elements"], rec["memory_bytes"] = "f32", out.shape, out.elements, 4*out.elements
		case 1:
			rec["memory_bytes"] = r.Int64N(5)
		}
		unknown, scalar := any(nil), []any{}
		maybe(rec, "input_shapes", [][]any{{[]any{2, 3}, unknown, scalar}, {unknown}, {scalar}, {}}[r.IntN(4)])
		maybe(rec, "path", "encoder.0")
		maybe(rec, "error", []string{"", "out of memory"}[r.IntN(2)])
		maybe(rec, "side", "host")
		if rec["trace_id"] != nil && r.IntN(3) == 0 {
			rec["root"], rec["root_span_id"] = "POST /", id(n)
		}
		if rec["kind"] == "collective" {
			maybe(rec, "collective", map[string]any{"name": "all_reduce", "group": "dp", "sequence": r.Int64N(2)})
		}
		list = append(list, rec)
	}
	return list
}

func writeRecords(t *testing.T, list []record) (file string) {
	t.Helper()
	lines := []byte(`{"schema":"optrace.entries/v1"}` + "\n")
	for _, rec := range list {
		var line any = rec
		if rec["operation"] == nil {
			line = record{"span": rec}
		}
		text := check.Must(json.Marshal(line))(t)
		lines = append(append(lines, text...), '\n')
	}
	file = filepath.Join(t.TempDir(), "in.jsonl")
	check.OK(t, os.WriteFile(file, lines, 0o600))
	return file
}

func readLines(t *testing.T, text []byte) (list []record) {
	t.Helper()
	for line := range bytes.Lines(text) {
		var rec record
		numbers := json.NewDecoder(bytes.NewReader(line))
		numbers.UseNumber()
		check.OK(t, numbers.Decode(&rec))
		if span, ok := rec["span"].(map[string]any); ok {
			rec = span
		}
		if rec["duration_ns"] != nil {
			list = append(list, rec)
		}
	}
	return list
}

// say returns what a record says, as text.
func say(t *testing.T, rec record) string {
	t.Helper()
	known := maps.Clone(rec)
	maps.DeleteFunc(known, func(_ string, v any) bool { return v == nil })
	text := check.Must(json.Marshal(known))(t)
	return string(text)
}

// firsts returns the first record of each id.
func firsts(t *testing.T, list []record) map[string]string {
	t.Helper()
	first := make(map[string]string)
	for _, rec := range list {
		id := fmt.Sprint(rec["trace_id"], rec["span_id"])
		if _, ok := first[id]; !ok && rec["trace_id"] != nil {
			first[id] = say(t, rec)
		}
	}
	return first
}

// inJaeger changes a record as Jaeger's JSON does: whole microseconds, no weights of links, and where no parent is stated
// the first link within the trace is it.
func inJaeger(rec record) {
	for _, key := range []string{"start_unix_ns", "duration_ns"} {
		if ns, ok := rec[key].(int64); ok {
			rec[key] = ns / 1000 * 1000
		}
	}
	if rec["operation"] != nil {
		rec["duration_us"] = rec["duration_ns"].(int64) / 1000
	}
	var links []any
	for _, l := range asList(rec["links"]) {
		to := maps.Clone(l.(map[string]any))
		delete(to, "weight")
		if rec["parent_span_id"] == nil && rec["trace_id"] == to["trace_id"] {
			rec["parent_span_id"] = to["span_id"]
			continue
		}
		links = append(links, to)
	}
	delete(rec, "links")
	if links != nil {
		rec["links"] = links
	}
}

func asList(v any) []any { list, _ := v.([]any); return list }

// What each conversion keeps of an operation or span, and that whichever record of an id came first still does, so that the
// report on what was converted is the report on the input.
func TestConversionsKeepRecords(t *testing.T) {
	t.Parallel()
	kept := 0
	for seed := range cases.Some(t, 10, 500) {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		list := randomRecords(r)
		input := writeRecords(t, list)
		for _, format := range []string{"entries", "otlp", "parquet", "chrome", "perfetto", "jaeger", "trace", "csv"} {
			_, file := converted(t, format, input)
			if format == "csv" {
				checkCSV(t, list, file)
				continue
			}
			back, _ := converted(t, "entries", "-drop-attributes", file)
			var want, got []record
			for _, rec := range list {
				rec = maps.Clone(rec)
				if format == "jaeger" {
					inJaeger(rec)
				}
				if format == "trace" {
					if rec["operation"] == nil {
						continue
					}
					rec = inTrace(rec)
				}
				want = append(want, rec)
			}
			for _, rec := range readLines(t, back) {
				for _, key := range []string{"warn", "extra"} {
					delete(rec, key)
				}
				if format == "trace" {
					rec = inTrace(rec)
				}
				got = append(got, rec)
			}
			where := fmt.Sprintf("seed %d, %s", seed, format)
			check.Equal(t, fmt.Sprintf("%s: records", where), saidBy(t, want), saidBy(t, got))
			check.Equal(t, fmt.Sprintf("%s: the first of each id", where), firsts(t, want), firsts(t, got))
			kept += len(got)
		}
		if t.Failed() {
			return
		}
	}
	if kept == 0 {
		t.Error("nothing was compared")
	}
}

func saidBy(t *testing.T, list []record) (all []string) {
	t.Helper()
	for _, rec := range list {
		all = append(all, say(t, rec))
	}
	slices.Sort(all)
	return all
}

// inTrace returns what the recorder's first format holds of an operation; unknown bytes are 0 there, and unknown inputs none.
func inTrace(rec record) record {
	kept := record{"memory_bytes": 0, "device_id": "", "input_shapes": []any{}}
	for _, key := range []string{"operation", "device_id", "memory_bytes", "input_shapes", "output_shape", "duration_ns", "side"} {
		if rec[key] != nil {
			kept[key] = rec[key]
		}
	}
	return kept
}

// checkCSV compares the rows of a table with records, in their order.
func checkCSV(t *testing.T, list []record, file string) {
	t.Helper()
	text := check.Must(os.ReadFile(file))(t)
	rows := check.Must(csv.NewReader(bytes.NewReader(text)).ReadAll())(t)
	list = slices.DeleteFunc(slices.Clone(list), func(rec record) bool { return rec["operation"] == nil })
	if len(rows) != len(list)+1 {
		t.Fatalf("%d rows of %d operations", len(rows)-1, len(list))
	}
	for i, rec := range list {
		for c, key := range rows[0] {
			switch key {
			case "operation", "kind", "side", "path", "device_id", "stream", "rank", "step", "start_unix_ns", "duration_ns", "memory_bytes",
				"flops", "trace_id", "span_id", "parent_span_id", "root", "service":
				want := ""
				if rec[key] != nil {
					want = fmt.Sprint(rec[key])
				}
				check.Equal(t, fmt.Sprintf("row %d, %s", i+1, key), want, rows[i+1][c])
			}
		}
	}
}
