package optrace_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/producer"
)

// fault happens to a file again and again while processes record to it.
type fault struct {
	name string
	// take removes the file; loses means that its contents are lost. Without take the fault kills other processes.
	take  func(path string) error
	loses bool
	// full limits the size of files until take.
	full bool
}

// faults are the faults of the test.
func faults() []fault {
	move := func(path string) error { return os.Rename(path, fmt.Sprint(path, ".moved", time.Now().UnixNano())) }
	empty := func(path string) error { return os.Truncate(path, 0) }
	return []fault{
		{name: "neighbours killed"},
		{name: "moved", take: move},
		{name: "removed", take: os.Remove, loses: true},
		{name: "emptied", take: empty, loses: true},
		{name: "full, moved", take: move, full: true},
		{name: "full, removed", take: os.Remove, loses: true, full: true},
		{name: "full, emptied", take: empty, loses: true, full: true},
	}
}

// Processes record in every format, compression and way to one file, with and without rotation, side by side, during
// faults at random moments. Flushed operations are in the file unless it was removed, no operation is there twice, no
// other data is damaged, the counts add up, and the next process can append. Row W1 of docs/reliability.md.
func TestRecordingSurvivesFaults(t *testing.T) {
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			if f.full && runtime.GOOS != "linux" {
				t.Skip("needs a system that limits the size of files as Linux does")
			}
			cases.Inputs(t, 1, 30, func(seed uint64, r *rand.Rand) {
				p := f.producer(r)
				t.Run(fmt.Sprintf("%d %v %v %v", seed, p.Format, p.Compression, p.Way), func(t *testing.T) {
					t.Parallel()
					f.happen(t, p, r)
				})
			})
		})
	}
}

// producer returns a random process for the fault.
func (f *fault) producer(r *rand.Rand) producer.Producer {
	o := outputs()[r.IntN(len(outputs()))]
	ways := producer.Ways()
	p := producer.Producer{
		Format: o.format, Compression: o.compression, Way: ways[r.IntN(len(ways))],
		Batch: 1 + r.IntN(1000), For: time.Second, MayLose: f.full || f.loses,
	}
	if p.Way == producer.FlightRecorder {
		p.Format = optrace.FormatEntries // the only file it writes
	}
	if p.MayLose {
		p.Pause = 5 * time.Millisecond
	}
	if r.IntN(2) == 0 {
		p.MaxBytes = 50_000 + r.Int64N(400_000)
	}
	if f.full {
		p.MaxFile = 20_000 + r.Uint64N(300_000)
		p.MaxBytes = min(p.MaxBytes, 1) * int64(2*p.MaxFile) // without rotation to make room
	}
	return p
}

func (f *fault) happen(t *testing.T, p producer.Producer, r *rand.Rand) {
	dir := t.TempDir()
	p.Path = filepath.Join(dir, "ops.x")
	var runs []*producer.Process
	start := func(d time.Duration) *producer.Process {
		p.Run = int64(len(runs))
		p.For = d
		runs = append(runs, check.Must(p.Start(t.Context()))(t))
		return runs[p.Run]
	}
	end := time.Now().Add(p.For - 100*time.Millisecond)
	start(p.For)
	if !p.MayLose {
		start(p.For)
	}
	kills := 0
	for time.Now().Before(end) {
		if f.take != nil {
			time.Sleep(time.Duration(r.IntN(150)) * time.Millisecond)
			_ = f.take(p.Path) // may be missing
			continue
		}
		neighbour := start(0)
		time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
		check.OK(t, neighbour.Kill())
		kills++
	}
	for _, run := range runs {
		check.OK(t, run.Wait())
	}
	p.MaxFile = 0
	p.MayLose = false
	p.Batch = 50
	next := int(p.Run) + 1
	check.OK(t, start(100*time.Millisecond).Wait())

	found := findIn(t, dir)
	if n := found.Repeated(); n > 0 || !f.loses && !f.full && found.Malformed > kills {
		t.Errorf("%d operations are there more than once, %d records cannot be read after %d kills", n, found.Malformed,
			kills)
	}
	for i, run := range runs {
		told := run.Told()
		there := found.Of(int64(i))
		lost := found.Lost(int64(i), run.Told().Written)
		switch {
		case told.Recorded != told.Written+told.Dropped || i == next && told.Written == 0:
			t.Errorf("process %d of %d tells %+v", i, next, told)
		case i < next && f.loses:
		case i < next && f.full && (there < told.Written || there > told.Recorded), (i == next || !f.full) && lost > 0:
			t.Errorf("process %d of %d tells %+v: %d operations are there, and %d of the first are not", i, next, told,
				there, lost)
		}
	}
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

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
