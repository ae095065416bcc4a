package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op/attr"
)

// converted returns the output of a conversion to a file and the name of the file.
func converted(t *testing.T, format string, inputs ...string) (text []byte, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "out")
	succeeds(t, append([]string{"convert", "-to", format, "-o", file}, inputs...)...)
	return check.Must(os.ReadFile(file))(t), file
}

func tempInput(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// An operation has the resource of its own writer and file.
func TestConversionsKeepSources(t *testing.T) {
	const entry = `{"operation":"relu","duration_us":1,"service":"svc"}` + "\n"
	header := func(host string) string {
		return `{"schema":"optrace.entries/v1","resource":{"service":"svc","attrs":{"host.name":"` + host + `"}}}` +
			"\n"
	}
	batch := func(w string) string { return `{"batch":{"writer":"` + w + `","seq":0,"entries":1}}` + "\n" }
	first := tempInput(t, "a.jsonl", batch("v")+header("a")+entry+batch("w")+header("b")+entry+batch("v")+entry)
	second := tempInput(t, "b.jsonl", entry)
	hosts := func(file string) (all []string) {
		m := new(attr.Mapping)
		m.Keep("host.name")
		for rec, err := range (ingest.Options{Mapping: m}).Open(file).Records() {
			check.OK(t, err)
			if rec.Entry != nil {
				host := ""
				for _, a := range rec.Entry.Attrs {
					host = a.Value
				}
				all = append(all, host)
			}
		}
		return all
	}
	for _, format := range []string{"entries", "otlp", "parquet"} {
		_, file := converted(t, format, first, second)
		check.Equal(t, format, []string{"a", "b", "a", ""}, hosts(file))
	}
}
