package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/optrace/optrace"
)

// runRotated records to a file that is rotated, while a reader follows.
func runRotated(cfg config, out io.Writer) (err error) {
	dir, err := os.MkdirTemp(filepath.Dir(cfg.path), "soak-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "ops.out")
	exp, err := optrace.NewFileExporter(path, optrace.WithFormat(cfg.format), optrace.WithCompression(cfg.packing),
		optrace.WithRotation(optrace.Rotation{MaxBytes: cfg.rotate}))
	if err != nil {
		return err
	}
	r := follow(path, out)
	st, elapsed, err := recordTo(cfg, exp)
	err = errors.Join(err, r.stop())
	if err != nil {
		return err
	}
	cfg.print(out, st, elapsed, r.bytes)
	fmt.Fprintf(out, "  %d files, live heap at most %.1f MB, obtained from the system %.1f MB\n",
		r.files, float64(r.heap)/1e6, float64(r.system)/1e6)
	return r.found.check(cfg.format, st, out)
}

// reader reads the files that are rotated, and removes them.
type reader struct {
	path       string // of the current file
	out        io.Writer
	found      tally
	files      int
	bytes      int64
	heap       uint64 // the most after a collection
	system     uint64
	stopping   chan struct{}
	done       chan error
	nextReport time.Time
}

// follow starts a reader.
func follow(path string, out io.Writer) *reader {
	r := &reader{path: path, out: out, stopping: make(chan struct{}), done: make(chan error, 1), nextReport: time.Now().Add(time.Minute)}
	go func() { r.done <- r.run() }()
	return r
}

// stop reads what is left, the current file too, once the exporter has ended.
func (r *reader) stop() error {
	close(r.stopping)
	if err := <-r.done; err != nil {
		return err
	}
	r.memory()
	if err := r.rotated(); err != nil {
		return err
	}
	return r.take(r.path)
}

func (r *reader) run() error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-r.stopping:
			return nil
		case <-tick.C:
		}
		if err := r.rotated(); err != nil {
			return err
		}
		if time.Now().After(r.nextReport) {
			r.nextReport = r.nextReport.Add(time.Minute)
			r.memory()
		}
	}
}

// rotated reads and removes the files that are finished. Their names sort by age.
func (r *reader) rotated() error {
	entries, err := os.ReadDir(filepath.Dir(r.path))
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(filepath.Dir(r.path), e.Name())
		if path == r.path {
			continue
		}
		if err := r.take(path); err != nil {
			return err
		}
	}
	return nil
}

// take reads a file and removes it.
func (r *reader) take(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return nil // some systems reserve the name of a file that is about to be rotated
	}
	if err := r.found.read(path); err != nil {
		return err
	}
	r.files++
	r.bytes += info.Size()
	return os.Remove(path)
}

// memory prints the memory of the process.
func (r *reader) memory() {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	r.heap, r.system = max(r.heap, m.HeapAlloc), max(r.system, m.Sys)
	fmt.Fprintf(r.out, "  %d operations read in %d files, live heap %.1f MB, obtained from the system %.1f MB\n",
		r.found.entries, r.files, float64(m.HeapAlloc)/1e6, float64(m.Sys)/1e6)
}
