package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/optrace/optrace/cmd/optrace/internal/input"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/op/entries"
)

// converted returns the output of a conversion to a file and the name of the file.
func converted(t *testing.T, format string, inputs ...string) (text []byte, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "out")
	succeeds(t, append([]string{"convert", "-to", format, "-o", file}, inputs...)...)
	return check.Must(os.ReadFile(file))(t), file
}

// sortedRecords returns the entries and spans of entries JSON Lines, sorted.
func sortedRecords(t *testing.T, text []byte) []string {
	t.Helper()
	var lines []string
	for rec, err := range entries.NewReader(bytes.NewReader(text), "converted").Records() {
		switch {
		case err != nil:
			t.Fatal(err)
		case rec.Entry != nil:
			lines = append(lines, string(rec.Entry.AppendJSON(nil)))
		case rec.Span != nil:
			lines = append(lines, string(rec.Span.AppendJSON(nil)))
		}
	}
	slices.Sort(lines)
	return lines
}

// Every sample of every format reads back from a timeline as the same operations
// and spans, apart from spans without an id.
func TestTimelinesReadBack(t *testing.T) {
	samples := 0
	for _, pattern := range []string{
		"testdata/*.json*", "testdata/figures/*.json*", "testdata/jaeger/*.json", "../../testdata/exporter_*", "../../op/*/testdata/*.json*",
		"../../ingest/*/testdata/*.json*", "../../ingest/*/testdata/*.pftrace", "../../ingest/otlp/testdata/*/traces*",
		"../../examples/offline/testdata/*",
	} {
		files := check.Must(filepath.Glob(pattern))(t)
		for file := range cases.Of(t, 4, files) {
			if slices.ContainsFunc([]string{".golden", "nan.", "unknown."}, func(s string) bool { return strings.Contains(file, s) }) ||
				slices.Contains([]string{"records.jsonl", "duckdb.jsonl"}, filepath.Base(file)) {
				continue // no inputs, and entries that no attributes can describe
			}
			t.Run(file, func(t *testing.T) {
				before, _ := converted(t, "entries", "-drop-attributes", file)
				want := slices.DeleteFunc(sortedRecords(t, before), func(line string) bool {
					return strings.HasPrefix(line, `{"span":`) && !strings.Contains(line, `"span_id"`)
				})
				for _, format := range []string{"chrome", "perfetto"} {
					_, timeline := converted(t, format, file)
					after, _ := converted(t, "entries", "-drop-attributes", timeline)
					check.Equal(t, format, want, sortedRecords(t, after))
				}
				samples++
			})
		}
	}
	if samples == 0 || cases.All() && samples < 30 {
		t.Errorf("%d samples", samples)
	}
}

func tempInput(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// An operation has the resource of its writer, wherever that was stated, and none of
// another file's.
func TestConversionsKeepSources(t *testing.T) {
	const entry = `{"operation":"relu","duration_us":1,"service":"svc"}` + "\n"
	header := func(host string) string {
		return `{"schema":"optrace.entries/v1","resource":{"service":"svc","attrs":{"host.name":"` + host + `"}}}` + "\n"
	}
	batch := func(w string) string { return `{"batch":{"writer":"` + w + `","seq":0,"entries":1}}` + "\n" }
	first := tempInput(t, "a.jsonl", batch("v")+header("a")+entry+batch("w")+header("b")+entry+batch("v")+entry)
	second := tempInput(t, "b.jsonl", entry)
	hosts := func(file string) (all []string) {
		m := new(attr.Mapping)
		m.Keep("host.name")
		err := input.Source{Inputs: []string{file}, Mapping: m}.Each(streams.Streams{Err: os.Stderr}, nil, func(rec op.Record, err error) error {
			if rec.Entry != nil {
				host := ""
				for _, a := range rec.Entry.Attrs {
					host = a.Value
				}
				all = append(all, host)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		return all
	}
	for _, format := range []string{"entries", "otlp", "parquet"} {
		_, file := converted(t, format, first, second)
		check.Equal(t, format, []string{"a", "b", "a", ""}, hosts(file))
	}
}
