package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/optrace/optrace/bench/measure"
)

//go:embed kineto.py
var kinetoScript []byte

// kinetoFiles prints what the files of PyTorch's profiler cost to profile: by
// optrace, by a few lines of pandas and by Holistic Trace Analysis, where Python
// has those.
func (b *bench) kinetoFiles(ctx context.Context) error {
	var files []string
	if b.kineto == "" {
		_, err := fmt.Fprint(b.out, "\nKineto files: not run, no directory of them was given\n")
		return err
	}
	for _, pattern := range []string{"*.json", "*.json.gz"} {
		found, err := filepath.Glob(filepath.Join(b.kineto, pattern))
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	fmt.Fprintf(b.out, "\n### Kineto files, whole processes\n\n")
	if len(files) == 0 {
		_, err := fmt.Fprintf(b.out, "not run: no Kineto files in %s\n", b.kineto)
		return err
	}
	script := filepath.Join(b.env.Cache, "kineto.py")
	if err := os.WriteFile(script, kinetoScript, 0o644); err != nil {
		return err
	}
	pandas, hta := pythonWith(ctx, "pandas"), pythonWith(ctx, "hta.trace_analysis")
	for name, python := range map[string]string{"pandas": pandas, "Holistic Trace Analysis": hta} {
		if python == "" {
			fmt.Fprintf(b.out, "not run: no python3 that has %s\n\n", name)
		}
	}
	fmt.Fprint(b.out, "| file | program | s | MB |\n|---|---|--:|--:|\n")
	for _, file := range files {
		for _, program := range []struct {
			name    string
			command []string
		}{
			{"optrace report", []string{b.program, "report", "-json", file}},
			{"pandas, groupby name", []string{pandas, script, "pandas", file}},
			{"HTA, temporal and kernel breakdown", []string{hta, script, "hta", file}},
		} {
			if program.command[0] == "" {
				continue
			}
			s, err := best(ctx, 1, program.command[0], program.command[1:]...)
			if err != nil {
				fmt.Fprintf(b.out, "| %s | %s | failed | |\n", filepath.Base(file), program.name)
				b.env.Log("%s: %v", program.name, err)
				continue
			}
			fmt.Fprintf(b.out, "| %s | %s | %.3f | %.1f |\n", filepath.Base(file), program.name, s.Wall.Seconds(), megabytes(s.RSS))
		}
	}
	return nil
}

// pythonWith returns a Python that has the module, "" where there is none: the
// first in the path, or the system's.
func pythonWith(ctx context.Context, module string) string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		python, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if _, _, err := measure.Command(ctx, 1, python, "-c", "import "+module); err == nil {
			return python
		}
	}
	return ""
}
