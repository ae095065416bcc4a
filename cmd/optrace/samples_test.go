package main

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/internal/check"
)

// workMarks are in the text of whatever holds work: the name of an operation of ours, its key in entries and seed traces, an event of
// PyTorch's profiler, the table of kernels of Nsight Systems.
var workMarks = regexp.MustCompile(
	`tensor\.op\.name|"operation": ?"|"cat": ?"(cpu_op|Operator|[kK]ernel)"|"ph":"X","name":|CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL`)

// No report on a recorded sample that holds work is empty: on 27 November 2026 these were 69 of 137 files. Four more, which zstd compresses,
// are not looked at.
func TestSamplesHaveFigures(t *testing.T) {
	const least = 69
	if _, err := os.Stat(recorded); err != nil {
		t.Skipf("needs the recorded samples: %v", err)
	}
	held := 0
	check.OK(t, filepath.WalkDir(recorded, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !holdsWork(t, path) {
			return err
		}
		held++
		t.Run(strings.TrimPrefix(path, recorded), func(t *testing.T) {
			t.Parallel()
			var r struct {
				Operations []struct {
					SumNS int64 `json:"sum_ns"`
				}
			}
			code, out, errs := ran(t, "report", "-json", path)
			check.Equal(t, "exit code, "+errs, exit.OK, code)
			check.OK(t, json.Unmarshal([]byte(out), &r))
			sum := int64(0)
			for _, o := range r.Operations {
				sum += o.SumNS
			}
			if sum == 0 {
				t.Errorf("%d operations take no time", len(r.Operations))
			}
			if code, out, _ := ran(t, "report", path); code != exit.OK || !strings.Contains(out, "\n  1. ") {
				t.Errorf("exit code %d, and a first screen without findings:\n%s", code, out)
			}
		})
		return nil
	}))
	if held < least {
		t.Errorf("%d samples hold work, at least %d did", held, least)
	}
}

// holdsWork reports whether marks of work are in a file. What servers answer where they cannot has them, too, and holds none.
func holdsWork(t *testing.T, path string) bool {
	t.Helper()
	f := check.Must(os.Open(path))(t)
	defer f.Close()
	src := io.Reader(f)
	switch filepath.Ext(path) {
	case ".md", ".sql", ".yaml", ".txt":
		return false
	case ".gz":
		src = check.Must(gzip.NewReader(f))(t)
	}
	text := check.Must(io.ReadAll(src))(t)
	return workMarks.Match(text)
}
