package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/optrace/optrace/analyze/replay"
	"github.com/optrace/optrace/internal/testing/check"
)

// The programs of this command run as processes of their own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-program" {
		main()
		return
	}
	os.Exit(m.Run())
}

// Half of the rows take less time, as predicted, in both ranks of a run, too.
func TestChangesAreMade(t *testing.T) {
	for _, c := range []change{
		{Program: "train", Flags: "steps=4 layers=2", A: "rows=3000", B: "rows=1500", WhatIf: "0.5x matmul"},
		{Program: "ranks", Flags: "steps=4 layers=2 bytes=100", A: "work0=4 work1=4", B: "work0=2 work1=2", WhatIf: "0.5x scan"},
		{Program: "device", Flags: "steps=4 launches=2 elements=9", A: "parse=400", B: "parse=200", WhatIf: "host 0.5x"},
	} {
		const tries = 5 // of which a busy machine may slow the second program down
		for i := range tries {
			r := runner{dir: t.TempDir()}
			times, _, err := r.pair(&c)
			check.OK(t, err)
			if times.NS > times.measured && times.NS > times.ReplayedNS && times.measured > 0 {
				break
			}
			if t.Logf("%s: %+v", c.Program, times); i+1 == tries {
				t.Errorf("%s: no try took less time", c.Program)
			}
		}
	}
}

// The edits fit the examples, and a replay knows the changes.
func TestChangesCanBeMade(t *testing.T) {
	all, err := allChanges()
	check.OK(t, err)
	for _, c := range all {
		for _, differs := range []string{c.A, c.B} {
			_, edits := c.side(differs)
			_, err := edited(filepath.Join("..", "..", c.Program), edits)
			check.OK(t, err)
		}
		for text := range strings.SplitSeq(c.WhatIf, " & ") {
			if _, err := replay.Parse(text); err != nil && !strings.HasPrefix(text, "finding ") {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	}
}
