// Command reality compares what optrace predicts for a change with the change made for real.
//
// Usage:
//
//	go run -C bench ./reality [-runs N] [-only WORDS] [-with COMMAND]
//
// The file changes.json has the changes. Each has two sides: a program with other flags, or an example of ../examples
// with an edit. The sides run in turns. For each recording of side A, a replay or a finding predicts side B. The table
// has medians over the runs. ../docs/replay.md shows one. Examples of llama.cpp and ONNX Runtime need npm, those of
// PyTorch Debian's package python3-torch.
package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/internal/release"
	"github.com/optrace/optrace/internal/text/units"
)

const _ = release.ModulesMustBeOfOneReleaseV0_3_0

// Programs that are not in Go, and the changes.
var (
	//go:embed onnxruntime.mjs
	ortProgram []byte
	//go:embed pytorch.py
	torchProgram []byte
	//go:embed changes.json
	changesText []byte
)

// change is a change that is made for real. Side A has Flags and A, side B Flags and B: flags, and edits of an
// example, FILE: OLD => NEW, separated by semicolons.
type change struct {
	Name, Program, Flags, A, B string
	WhatIf                     string // changes of a replay, separated by &, or "finding" and a rule
	Rule                       string // of the first finding with a gain on side A, "" for none
	Requests                   bool   // compare the sum of the requests, not the run
	Files                      string // the recorded files, "" for all
}

func main() {
	name := flag.String("program", "", "run this `program` once, with the flags NAME=N that follow")
	file := flag.String("o", "ops.jsonl", "its `file`")
	runs := flag.Int("runs", 10, "run each side `N` times")
	only := flag.String("only", "", "make only the changes with these `words` in their name, separated by commas")
	with := flag.String("with", "", "run programs by this `command`, such as \"chrt -r 1\"")
	flag.Parse()
	err := error(nil)
	if *name != "" {
		err = runProgram(*name, *file, flag.Args())
	} else {
		err = compare(*runs, *only, strings.Fields(*with))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reality:", err)
		os.Exit(1)
	}
}

func allChanges() (all []change, err error) {
	err = json.Unmarshal(changesText, &all)
	return all, err
}

// compare makes the changes and prints the table.
func compare(runs int, only string, with []string) error {
	changes, err := allChanges()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "reality-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	r := runner{dir: dir, with: with}
	fmt.Println("| program | change | replayed | recorded | predicted | measured | error | saved | first |")
	fmt.Println("|---|---|---|--:|--:|--:|--:|--:|--:|")
	var off []float64
	for _, c := range changes {
		if !slices.ContainsFunc(strings.Split(only, ","), func(w string) bool { return strings.Contains(c.Name, w) }) {
			continue
		}
		var all [5][]int64
		first := 0
		for range runs {
			t, isFirst, err := r.pair(&c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
			for i, ns := range [5]int64{t.NS, t.ReplayedNS, t.LowNS, t.HighNS, t.measured} {
				all[i] = append(all[i], ns)
			}
			if isFirst {
				first++
			}
		}
		var ns [5]int64
		for i := range all {
			slices.Sort(all[i])
			ns[i] = all[i][runs/2]
		}
		e := 100 * float64(ns[1]-ns[4]) / float64(ns[4])
		off = append(off, max(e, -e))
		out, named := "", "–"
		if c.Rule != "" {
			named = strconv.Itoa(first)
		}
		if ns[4] < ns[2] || ns[4] > ns[3] {
			out = " *"
		}
		fmt.Printf("| %s | %s | `%s` | %s | %s | %s | %+.1f %%%s | %.2f | %s |\n", c.Program, c.Name, c.WhatIf,
			units.Duration(ns[0]), units.Duration(ns[1]), units.Duration(ns[4]), e, out,
			float64(ns[0]-ns[1])/float64(ns[0]-ns[4]), named)
	}
	if slices.Sort(off); len(off) > 0 {
		fmt.Printf("\n%d changes; the median error is %.1f %%, the largest %.1f %%.\n", len(off), off[len(off)/2], off[len(off)-1])
	}
	return nil
}

// times are those of side A, predicted for side B, and measured there.
type times struct {
	replay.Times
	measured int64
}

// runner runs programs. It numbers their folders and remembers what it built.
type runner struct {
	dir   string
	with  []string
	runs  int
	built map[string]string
}

// pair runs both sides and predicts the second one. isFirst reports whether the first finding has the change's rule.
func (r *runner) pair(c *change) (t times, isFirst bool, err error) {
	a, err := r.record(c, c.A)
	if err != nil {
		return t, false, err
	}
	b, err := r.record(c, c.B)
	if err != nil {
		return t, false, err
	}
	ctx := context.Background()
	var changes []replay.Change
	rule, isFinding := strings.CutPrefix(c.WhatIf, "finding ")
	for text := range strings.SplitSeq(c.WhatIf, " & ") {
		if before, ok := strings.CutSuffix(text, "…"); ok {
			text = before + longest(a)
		}
		if parsed, err := replay.Parse(text); err == nil {
			changes = append(changes, parsed)
		} else if !isFinding {
			return t, false, err
		}
	}
	before, err := analyze.RunWhatIf(ctx, ingest.Open(a...), analyze.Options{}, changes...)
	if err != nil {
		return t, false, err
	}
	after, err := analyze.RunWhatIf(ctx, ingest.Open(b...), analyze.Options{})
	if err != nil {
		return t, false, err
	}
	t = times{before.Run, after.Run.NS}
	if q := before.Requests; c.Requests && q != nil && after.Requests != nil {
		t.Times = replay.Times{NS: q.SumNS, ReplayedNS: q.ReplayedSumNS, LowNS: q.LowSumNS, HighNS: q.HighSumNS}
		t.measured = after.Requests.SumNS
	}
	report, err := analyze.Run(ctx, ingest.Open(a...), analyze.Options{AlignClocks: true})
	if err != nil {
		return t, false, err
	}
	gains := 0
	for _, f := range report.Findings {
		if !f.SavedNS.Known {
			continue
		}
		isFirst = isFirst || gains == 0 && c.Rule == f.Rule
		if gains++; isFinding && f.Rule == rule {
			isFinding = false
			t.ReplayedNS, t.LowNS, t.HighNS = t.NS-f.SavedNS.V, t.NS-f.SavedHighNS.V, t.NS-f.SavedLowNS.V
		}
	}
	if isFinding {
		return t, false, errors.New("no finding " + rule)
	}
	return t, isFirst, nil
}

// longest returns the trace of the request with the largest weight in a shared execution, or "".
func longest(files []string) (trace string) {
	most := int64(0)
	for rec, err := range ingest.Open(files...).Records() {
		if err != nil || rec.Span == nil {
			continue
		}
		for _, l := range rec.Span.Links {
			if l.Weight.V > most {
				most = l.Weight.V
				trace = l.TraceID.String()
			}
		}
	}
	return trace
}

// side returns the flags and the edits of a side.
func (c *change) side(differs string) (flags, edits []string) {
	for part := range strings.SplitSeq(c.Flags+"; "+differs, "; ") {
		if strings.Contains(part, " => ") {
			edits = append(edits, part)
		} else {
			flags = append(flags, strings.Fields(part)...)
		}
	}
	return flags, edits
}

// record runs a side and returns the files that it recorded.
func (r *runner) record(c *change, differs string) ([]string, error) {
	r.runs++
	dir := filepath.Join(r.dir, strconv.Itoa(r.runs))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	flags, edits := c.side(differs)
	self, err := os.Executable()
	words := []string{self, "-program", c.Program, "-o", filepath.Join(dir, "ops.jsonl")}
	script := filepath.Join(dir, "program.mjs")
	switch name, isExample := strings.CutPrefix(c.Program, "examples/"); {
	case isExample:
		words = []string{"", "-o", filepath.Join(dir, "ops.jsonl")}
		if name == "quickstart" || name == "async" {
			words[2] = dir
		}
		words[0], err = r.build(name, edits)
	case c.Program == "onnxruntime":
		words = []string{"node", script, filepath.Join("..", "examples", "onnxruntime"), dir}
		err = os.WriteFile(script, ortProgram, 0o600)
	case c.Program == "pytorch":
		words = []string{"/usr/bin/python3", script, dir}
		err = os.WriteFile(script, torchProgram, 0o600)
	}
	if err != nil {
		return nil, err
	}
	words = slices.Concat(r.with, words, flags)
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", words, err, out)
	}
	return filepath.Glob(filepath.Join(dir, cmp.Or(c.Files, "*.json*")))
}

// edited returns the texts of an example's files after edits, by path.
func edited(folder string, edits []string) (map[string]string, error) {
	texts := make(map[string]string)
	for _, edit := range edits {
		file, change, _ := strings.Cut(edit, ": ")
		before, after, _ := strings.Cut(change, " => ")
		source := filepath.Join(folder, file)
		if texts[source] == "" {
			text, err := os.ReadFile(source)
			if err != nil {
				return nil, err
			}
			texts[source] = string(text)
		}
		if !strings.Contains(texts[source], before) {
			return nil, fmt.Errorf("%s has no %q", source, before)
		}
		texts[source] = strings.ReplaceAll(texts[source], before, after)
	}
	return texts, nil
}

// build builds an example with edits.
func (r *runner) build(name string, edits []string) (binary string, err error) {
	key := name + strings.Join(edits, "\n")
	if r.built[key] != "" {
		return r.built[key], nil
	}
	examples, err := filepath.Abs(filepath.Join("..", "examples"))
	if err != nil {
		return "", err
	}
	texts, err := edited(filepath.Join(examples, name), edits)
	if err != nil {
		return "", err
	}
	binary = filepath.Join(r.dir, fmt.Sprint(name, len(r.built)))
	overlay := struct{ Replace map[string]string }{make(map[string]string)}
	for source, text := range texts {
		overlay.Replace[source] = binary + filepath.Base(source)
		if err := os.WriteFile(overlay.Replace[source], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	list, _ := json.Marshal(overlay) // of texts
	if err := os.WriteFile(binary+".json", list, 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-C", examples, "-overlay", binary+".json", "-o", binary, "./"+name)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", cmd, err, out)
	}
	if r.built == nil {
		r.built = make(map[string]string)
	}
	r.built[key] = binary
	return binary, nil
}
