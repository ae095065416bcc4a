package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

// flame is the flame graph computed by the page's own code.
type flame struct {
	Stacks   map[string][5]int64
	HostOnly bool
	Rows     int
}

// flames runs the code of pages in Node.js.
func flames(t *testing.T, pages []string) []flame {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node on the PATH: .ci/browser installs it")
	}
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(t.Context(), node, append([]string{"testdata/flame.mjs"}, pages...)...)
	cmd.Stdout = &out
	cmd.Stderr = &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &problems)
	}
	var all []flame
	for dec := json.NewDecoder(&out); ; {
		var f flame
		err := dec.Decode(&f)
		if err == io.EOF {
			return all
		}
		check.OK(t, err)
		all = append(all, f)
	}
}

// named returns stacks by their names in profiles.
func named(all map[string][5]int64) map[string][5]int64 {
	sums := make(map[string][5]int64)
	for path, values := range all {
		var names []string
		for name := range strings.SplitSeq(path, "|") {
			names = append(names, stacks.Name(name))
		}
		key := strings.Join(names, "|")
		sum := sums[key]
		for i := range sum {
			sum[i] += values[i]
		}
		sums[key] = sum
	}
	return sums
}

// byStack returns the values of a profile by stack, the leaf first.
func byStack(p *profile.Profile) map[string][5]int64 {
	sums := make(map[string][5]int64)
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			names = append(names, l.Line[0].Function.Name)
		}
		key := strings.Join(names, "|")
		sum := sums[key]
		for i := range sum {
			sum[i] += s.Value[i]
		}
		if sum != [5]int64{} {
			sums[key] = sum
		}
	}
	return sums
}

// The page's flame graph of a whole run has the stacks of pprof and of collapsed stacks: count, time, self time, bytes
// and FLOPs of each.
func TestFlameGraphIsTheStackTable(t *testing.T) {
	cases.NotUnderRace(t, allSamples)
	var pages, files []string
	dir := t.TempDir()
	for i, file := range samples(t) {
		page := filepath.Join(dir, strconv.Itoa(i)+".html")
		if code, _, _ := ran(t, "report", "-html", page, file); code != exit.OK {
			continue // no input
		}
		pages = append(pages, page)
		files = append(files, file)
	}
	compared := 0
	for i, f := range flames(t, pages) {
		forest, _, err := analyze.ReadForest(t.Context(), ingest.Open(files[i]), 1)
		check.OK(t, err)
		timed := true
		for n := range forest.Nodes() {
			timed = timed && (n.Start().Known || n.IsDuplicate())
		}
		if f.HostOnly || !timed {
			continue // the page shows the host's view there, and only records with times
		}
		compared++
		p := profileOf(t, files[i])
		check.Equal(t, fmt.Sprintf("%s: flame graph against pprof", files[i]), byStack(p), named(f.Stacks))
		self := make(map[string]int64)
		for path, values := range f.Stacks {
			names := strings.Split(path, "|")
			slices.Reverse(names)
			self[stacks.Collapse(names...)] += values[2]
		}
		var want bytes.Buffer
		check.OK(t, stacks.WriteCollapsed(&want, self))
		_, file := converted(t, "collapsed", files[i])
		got := check.Must(os.ReadFile(file))(t)
		check.Equal(t, fmt.Sprintf("%s: flame graph against collapsed", files[i]), string(got), want.String())
	}
	if compared == 0 || cases.All() && compared < 20 {
		t.Errorf("%d of %d pages were compared", compared, len(pages))
	}
	t.Logf("%d of %d pages were compared", compared, len(pages))
}
