package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/optrace/optrace/internal/cases"
)

// All parts but that of Python run on a few operations.
func TestRun(t *testing.T) {
	cases.Rare(t)
	var out, progress bytes.Buffer
	if err := run(t.Context(), t.TempDir(), []string{"-max", "10000", "-kineto", t.TempDir()}, &out, &progress); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| otlp-json |", "| entries, zstd |", "| Parquet", "| 1000 | summary |", "| 10000 | all |", "\n| 10000 | 0", "no Kineto files",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestRunErrors(t *testing.T) {
	for _, args := range [][]string{{"-only", "nothing"}, {"-max", "0"}, {"argument"}, {"-no-such-flag"}} {
		var out bytes.Buffer
		if err := run(t.Context(), t.TempDir(), args, &out, &out); err == nil {
			t.Errorf("%v is no error", args)
		}
	}
}
