package optrace_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/spantest"
	"github.com/optrace/optrace/tensorconv"
)

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	return check.Must(os.ReadFile(path))(t)
}

// Invalid options are errors, and no file is written.
func TestExporterOptionErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ops.jsonl")
	for name, tt := range map[string]struct {
		path string
		opt  optrace.ExporterOption
		want string
	}{
		"format":      {path, optrace.WithFormat(9), "unknown format 9"},
		"compression": {path, optrace.WithCompression(9), "unknown compression 9"},
		"cache":       {path, optrace.WithCacheBytes(-1), "cache size -1 is negative"},
		"rotation":    {path, optrace.WithRotation(optrace.Rotation{MaxBytes: -1}), "-1 is negative"},
		"a device": {os.DevNull, optrace.WithRotation(optrace.Rotation{MaxBytes: 1000}),
			"rotation needs a regular file"},
		"a directory":  {dir, nil, dir},
		"no directory": {filepath.Join(dir, "missing", "ops.jsonl"), nil, "missing"},
		"no name":      {"", nil, "the path is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := optrace.NewFileExporter(tt.path, tt.opt)
			check.Says(t, "NewFileExporter", tt.want, err)
			check.Equal(t, "the file has been written to", 0, size(path))
			if tt.path == path {
				_, err := optrace.NewExporter(io.Discard, tt.opt)
				check.Says(t, "NewExporter", tt.want, err)
			}
		})
	}
	_, err := optrace.NewFileExporter(filepath.Join(dir, "missing", "ops.jsonl"))
	check.Is(t, "no directory", fs.ErrNotExist, err)
	_, err = optrace.NewExporter(io.Discard, optrace.WithRotation(optrace.Rotation{MaxBytes: 1}))
	check.Says(t, "rotation of a writer", "rotation is for files", err)
	shutdown(t, newFile(t, path, nil, optrace.WithRotation(optrace.Rotation{}), optrace.WithMapping(nil))) // all off
	check.Equal(t, "an unknown format", "Format(7)", optrace.Format(7).String())
}

// No recorded name becomes part of a path. Row H5 of docs/faults.md.
func TestNamesAreNoPaths(t *testing.T) {
	above := t.TempDir()
	dir := filepath.Join(above, "a", "b")
	check.OK(t, os.MkdirAll(dir, 0o700))
	t.Chdir(dir)
	exp := newFile(t, "ops.jsonl", optrace.WithRotation(optrace.Rotation{MaxBytes: 1}))
	recorder := check.Must(optrace.NewFlightRecorder(exp, 10))(t)
	names := []string{"../../x", "/tmp/../x", filepath.Join(above, "y"), "CON", "nul\x00byte", "..", "a\\b",
		"ops.jsonl"}
	for i, name := range names {
		stub := spantest.Operation(i)
		stub.Name = name
		stub.Resource = spantest.Service(name)
		stub.Attributes = append(stub.Attributes, tensorconv.OpName(name), tensorconv.DeviceID(name),
			tensorconv.OpPath(name))
		export(t, exp, stub.Snapshot())
		recorder.OnEnd(stub.Snapshot())
		check.OK(t, recorder.Dump(t.Context()))
	}
	shutdown(t, recorder)
	found, contents := check.Files(t, dir)
	for _, name := range found {
		if !strings.HasPrefix(name, "ops") || !strings.HasSuffix(name, ".jsonl") {
			t.Errorf("a file is named %q", name)
		}
	}
	check.Equal(t, "entries", 2*len(names), len(spantest.ReadWhole(t, bytes.Join(contents, nil)).Entries))
	for path, want := range map[string]string{above: "a", filepath.Join(above, "a"): "b"} {
		if listed := check.Must(os.ReadDir(path))(t); len(listed) != 1 || listed[0].Name() != want {
			t.Errorf("%s holds %v, want %s", path, listed, want)
		}
	}
}

// A rotated file is complete when it appears: a reader may remove it after reading.
func TestRotatedFilesAreWholeConcurrentSafe(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("this system reserves names by empty files")
	}
	dir := t.TempDir()
	exp := newFile(t, filepath.Join(dir, "ops.jsonl"), optrace.WithRotation(optrace.Rotation{MaxBytes: 1}))
	n := cases.Count(t, 300, 1000)
	spans := spantest.Operations(n)
	done := make(chan error)
	go func() {
		var err error
		for i := range n {
			err = errors.Join(err, exp.ExportSpans(t.Context(), spans[i:i+1]))
		}
		done <- errors.Join(err, exp.Shutdown(t.Context()))
	}()
	found := 0
	ended := false
	for !ended {
		select {
		case err := <-done:
			check.OK(t, err)
			ended = true
		default:
		}
		entries := check.Must(os.ReadDir(dir))(t)
		for _, e := range entries {
			if e.Name() == "ops.jsonl" && !ended {
				continue
			}
			n := len(spantest.Read(t, readFile(t, filepath.Join(dir, e.Name()))).Entries)
			if n == 0 && !ended {
				t.Fatalf("%s is empty", e.Name())
			}
			found += n
			check.OK(t, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	check.Equal(t, "operations were found", n, found)
}

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
// other data is damaged, the counts add up, and the next process can append. See docs/reliability.md.
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
func (f *fault) producer(r *rand.Rand) producer {
	o := outputs()[r.IntN(len(outputs()))]
	p := producer{
		Format: o.format, Compression: o.compression, Way: ways[r.IntN(len(ways))],
		Batch: 1 + r.IntN(1000), For: time.Second, MayLose: f.full || f.loses,
	}
	if p.Way == wayFlight {
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

func (f *fault) happen(t *testing.T, p producer, r *rand.Rand) {
	dir := t.TempDir()
	p.Path = filepath.Join(dir, "ops.x")
	var runs []*process
	start := func(d time.Duration) *process {
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
func findIn(t *testing.T, dir string) *foundOps {
	t.Helper()
	found := check.Must(findOps(dir))(t)
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
