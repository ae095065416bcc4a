package optrace_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/optrace/optrace/internal/spantest"
)

// Two processes write to one file, with and without rotation, in every format:
// what was flushed is there, and nothing is damaged.
func TestW1TwoProcessesLoseNothing(t *testing.T) {
	for _, o := range outputs() {
		for _, limit := range []int64{0, 400_000} {
			if testing.Short() && limit == 0 {
				continue
			}
			t.Run(fmt.Sprintf("%v %d", o, limit), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				p := producer{
					Path: filepath.Join(dir, "ops.x"), Format: o.format, Compression: o.compression,
					MaxBytes: limit, Batch: 1000, For: 500 * time.Millisecond,
				}
				var waits []func() produced
				for run := range int64(2) {
					p.Run = run
					_, wait := p.start(t)
					waits = append(waits, wait)
				}
				var told []produced
				for _, wait := range waits {
					told = append(told, wait())
				}
				steps, malformed := stepsIn(t, dir)
				for run, last := range told {
					checkFlushed(t, o.String(), steps, int64(run), last.written)
				}
				if malformed > 0 {
					t.Errorf("%d records cannot be read", malformed)
				}
			})
		}
	}
}

// Processes start and are killed beside one that writes: what any of them flushed
// is there.
func TestW1KilledNeighboursLoseNothing(t *testing.T) {
	for _, o := range outputs() {
		t.Run(o.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := producer{Path: filepath.Join(dir, "ops.x"), Format: o.format, Compression: o.compression, Batch: 200, For: 2 * time.Second}
			_, waitLong := p.start(t)
			p.For = 0
			var told []produced
			for run := int64(1); run < 5; run++ {
				p.Run = run
				neighbour, wait := p.start(t)
				time.Sleep(time.Duration(100+rand.IntN(200)) * time.Millisecond)
				if err := neighbour.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				told = append(told, wait())
			}
			long := waitLong()
			steps, _ := stepsIn(t, dir)
			checkFlushed(t, o.String(), steps, 0, long.written)
			for i, last := range told {
				if last.written > 0 {
					checkFlushed(t, o.String(), steps, int64(i)+1, last.written)
				}
			}
		})
	}
}

// What a killed neighbour left of a batch costs that batch alone: behind a torn
// line a batch begins with a newline, behind another torn batch in a new file.
func TestW4TornTailOfANeighbour(t *testing.T) {
	for _, o := range outputs() {
		t.Run(o.String(), func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "ops.x")
			exp := newFile(t, path, o.fileOptions()...)
			batch := o.batchOf(t, 3)
			const rounds = 5
			for i := range rounds {
				export(t, exp, spantest.Operation(10+i).Snapshot())
				tail := batch[:len(batch)/2]
				if i%2 == 1 {
					tail = batch[:7]
				}
				appendTo(t, path, tail)
			}
			export(t, exp, spantest.Operation(10+rounds).Snapshot())
			if err := exp.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			steps, _ := stepsIn(t, dir)
			for i := range rounds + 1 {
				if steps[int64(10+i)] != 1 {
					t.Errorf("operation %d is there %d times", 10+i, steps[int64(10+i)])
				}
			}
			names, _ := files(t, dir)
			if want := map[bool]int{true: 1, false: rounds + 1}[o.lines()]; len(names) != want {
				t.Errorf("files %q, want %d", names, want)
			}
		})
	}
}

// Whole batches of a neighbour are no reason for anything.
func TestW4WholeBatchesOfANeighbour(t *testing.T) {
	for _, o := range outputs() {
		dir := t.TempDir()
		path := filepath.Join(dir, "ops.x")
		exp := newFile(t, path, o.fileOptions()...)
		var want []int64
		for i := range 5 {
			export(t, exp, spantest.Operation(10+i).Snapshot())
			appendTo(t, path, o.batchOf(t, 2))
			want = append(want, int64(10+i), 0, 1)
		}
		if err := exp.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, o.steps(t, readFile(t, path), 0)); diff != "" {
			t.Errorf("%v: entries (-want +got):\n%s", o, diff)
		}
	}
}

func appendTo(t *testing.T, path string, text []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.Write(text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A process that is stopped while it holds the file keeps nobody from writing.
func TestW1StoppedNeighbour(t *testing.T) {
	for _, o := range outputs() {
		t.Run(o.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, "ops.x")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			unlock := lockFile(t, path)
			exp := newFile(t, path, o.fileOptions()...)
			for i := range 20 {
				export(t, exp, spantest.Operation(i).Snapshot())
			}
			unlock()
			if err := exp.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(upTo(20), o.steps(t, readFile(t, path), 0)); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
}
