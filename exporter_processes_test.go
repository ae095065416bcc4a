package optrace_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/cases"
	"github.com/optrace/optrace/internal/check"
	"github.com/optrace/optrace/internal/producer"
	"github.com/optrace/optrace/internal/spantest"
)

// Two processes write to one file, with and without rotation, in every format:
// what was flushed is there, and nothing is damaged.
func TestW1TwoProcessesLoseNothing(t *testing.T) {
	for o := range cases.Of(t, 4, outputs()) {
		for _, limit := range []int64{0, 400_000} {
			t.Run(fmt.Sprintf("%v %d", o, limit), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				p := producer.Producer{
					Path: filepath.Join(dir, "ops.x"), Format: o.format, Compression: o.compression, Policy: optrace.PolicyBlock,
					MaxBytes: limit, Batch: 1000, For: 500 * time.Millisecond,
				}
				var runs []*producer.Process
				for run := range int64(2) {
					p.Run = run
					runs = append(runs, startProducer(t, p))
				}
				var told []producer.Told
				for _, r := range runs {
					told = append(told, waitFor(t, r))
				}
				found := findIn(t, dir)
				for run, last := range told {
					checkFlushed(t, o.String(), found, int64(run), last.Written)
				}
				if found.Malformed > 0 {
					t.Errorf("%d records cannot be read", found.Malformed)
				}
			})
		}
	}
}

// Processes start and are killed beside one that writes: what any of them flushed
// is there.
func TestW1KilledNeighboursLoseNothing(t *testing.T) {
	runs := int64(cases.Count(t, 2, 4))
	for o := range cases.Of(t, 1, outputs()) {
		t.Run(o.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := producer.Producer{
				Path: filepath.Join(dir, "ops.x"), Format: o.format, Compression: o.compression, Policy: optrace.PolicyBlock,
				Batch: 200, For: time.Duration(runs) * time.Second / 2,
			}
			long := startProducer(t, p)
			p.For = 0
			var told []producer.Told
			for run := int64(1); run <= runs; run++ {
				p.Run = run
				neighbour := startProducer(t, p)
				time.Sleep(time.Duration(100+rand.IntN(200)) * time.Millisecond)
				check.OK(t, neighbour.Kill())
				told = append(told, waitFor(t, neighbour))
			}
			last := waitFor(t, long)
			found := findIn(t, dir)
			checkFlushed(t, o.String(), found, 0, last.Written)
			for i, last := range told {
				if last.Written > 0 {
					checkFlushed(t, o.String(), found, int64(i)+1, last.Written)
				}
			}
		})
	}
}

func startProducer(t *testing.T, p producer.Producer) *producer.Process {
	t.Helper()
	return check.Must(p.Start(t.Context()))(t)
}

// waitFor waits until a producer has ended, and returns what it told last.
func waitFor(t *testing.T, r *producer.Process) producer.Told {
	t.Helper()
	told, err := r.Wait()
	if err != nil {
		t.Error(err)
	}
	return told
}

// findIn returns the operations in the files of a directory.
func findIn(t *testing.T, dir string) *producer.Found {
	t.Helper()
	found := check.Must(producer.Find(dir))(t)
	for _, err := range found.Unreadable {
		t.Error(err)
	}
	return found
}

// checkFlushed checks that all of the first n operations of a run are there.
func checkFlushed(t *testing.T, what string, found *producer.Found, run, n int64) {
	t.Helper()
	if lost := found.Lost(run, n); lost > 0 || n == 0 {
		t.Errorf("%s: of %d operations of run %d that were flushed %d are lost", what, n, run, lost)
	}
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// A process that is killed at a random moment, again and again, appending to one file: all whole lines can be read, a write
// that was cut off shows as one torn line at most, and no batch is missing.
func TestKilledProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ops.jsonl")
	rounds, torn := cases.Count(t, 5, 25), 0
	for run := range rounds {
		p := startProducer(t, producer.Producer{Path: path, Policy: optrace.PolicyBlock, Run: int64(run), Batch: 50})
		for p.Told().Written == 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(rand.IntN(30_000)) * time.Microsecond)
		check.OK(t, p.Kill())
		waitFor(t, p)
		text := readFile(t, path)
		if !bytes.HasSuffix(text, []byte("\n")) {
			torn++
		}
		rec := spantest.Read(t, text)
		if rec.CheckBatches(t, true); len(rec.Malformed) > torn || rec.Writers() != run+1 {
			t.Fatalf("%d kills, %d of them within a line: %d writers, and %v cannot be read", run+1, torn, rec.Writers(), rec.Malformed)
		}
	}
	exp := newFile(t, path)
	export(t, exp, spantest.Operations(3)...)
	shutdown(t, exp)
	text := readFile(t, path)
	if rec := spantest.Read(t, text); len(rec.Malformed) > torn || rec.Writers() != rounds+1 || !bytes.HasSuffix(text, []byte("\n")) {
		t.Errorf("after reopening %d lines cannot be read, %d were torn, of %d writers", len(rec.Malformed), torn, rec.Writers())
	}
}
