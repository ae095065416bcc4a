package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
)

// allSamples explains why tests over all samples are skipped under the race detector.
const allSamples = "all samples: minutes under the race detector, which goes through readers and analyses in their " +
	"own tests"

// filesBelow returns the files below a folder with part in their paths, nil for a missing folder.
func filesBelow(t *testing.T, folder, part string) (files []string) {
	t.Helper()
	check.OK(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path == folder:
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "fuzz" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") &&
			len(d.Name()) > 2):
			return fs.SkipDir
		case d.Type().IsRegular() && strings.Contains(path, part):
			files = append(files, path)
		}
		return nil
	}))
	return files
}

// samples returns the files read by tests, and recorded traces if present.
func samples(t *testing.T) []string {
	t.Helper()
	return slices.Collect(cases.Of(t, 20, append(filesBelow(t, "../..", "/testdata/"), filesBelow(t, recorded, "")...)))
}

func profileOf(t *testing.T, inputs ...string) *profile.Profile {
	t.Helper()
	text, _ := converted(t, "pprof", inputs...)
	p := check.Must(profile.ParseData(text))(t)
	check.OK(t, p.CheckValid())
	return p
}

type figures struct{ Count, SelfNS, Bytes, FLOPs int64 }

type reported struct {
	Operation   string
	Side        string
	Count       int64
	SumNS       int64 `json:"sum_ns"`
	SelfNS      int64 `json:"self_ns"`
	MemoryBytes int64 `json:"memory_bytes"`
	FLOPs       int64
	Derived     int64 `json:"flops_derived"`
}

// operationsOf returns the operations in a report on a file, without the host's view.
func operationsOf(t *testing.T, file string) map[string]reported {
	t.Helper()
	var report struct{ Operations []reported }
	check.OK(t, json.Unmarshal([]byte(succeeds(t, "report", "-json", file)), &report))
	rows := make(map[string]reported)
	for _, o := range report.Operations {
		if o.Side != op.SideHost.String() {
			rows[stacks.Name(o.Operation)] = o
		}
	}
	return rows
}

// In each sample of each format, every operation has the same nanoseconds, bytes and FLOPs in the report, in the
// profile and in collapsed stacks.
func TestProfilesHaveTheFiguresOfTheReport(t *testing.T) {
	cases.NotUnderRace(t, allSamples)
	compared := 0
	derived := 0
	for _, file := range samples(t) {
		if code, _, _ := ran(t, "report", file); code != exit.OK {
			continue // no input
		}
		t.Run(file, func(t *testing.T) {
			flat := make(map[string]figures)
			want := make(map[string]figures)
			self := make(map[string]int64)
			for _, s := range profileOf(t, file).Sample {
				leaf := s.Location[0].Line[0].Function.Name
				f := flat[leaf]
				flat[leaf] = figures{f.Count + s.Value[0], f.SelfNS + s.Value[2], f.Bytes + s.Value[3],
					f.FLOPs + s.Value[4]}
			}
			text, _ := converted(t, "collapsed", file)
			for line := range strings.Lines(string(text)) {
				end := strings.LastIndexByte(line, ' ')
				leaf := line[strings.LastIndexByte(line[:end], ';')+1 : end]
				self[leaf] += check.Must(strconv.ParseInt(strings.TrimSpace(line[end:]), 10, 64))(t)
			}
			for name, o := range operationsOf(t, file) {
				compared++
				if o.Derived > 0 {
					derived++
				}
				want[name] = figures{o.Count, o.SelfNS, o.MemoryBytes, o.FLOPs}
				check.Equal(t, fmt.Sprintf("%q: self time in collapsed stacks", name), o.SelfNS,
					self[stacks.Collapse(o.Operation)])
			}
			check.Equal(t, "pprof against report", want, flat)
		})
	}
	if compared == 0 || cases.All() && (compared < 100 || derived < 10) {
		t.Errorf("%d operations were compared, FLOPs that follow from shapes of %d", compared, derived)
	}
}
