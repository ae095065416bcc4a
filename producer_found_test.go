package optrace_test

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
)

// foundOps has the operations in the files of a directory.
type foundOps struct {
	// Malformed counts the unreadable records.
	Malformed int
	// Unreadable has the errors of files that could not be read to their end.
	Unreadable []error

	times map[int64]int // number of occurrences by step
}

// findOps reads the files in dir, in any format.
func findOps(dir string) (*foundOps, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	f := &foundOps{times: make(map[int64]int)}
	for _, file := range files {
		f.read(filepath.Join(dir, file.Name()))
	}
	return f, nil
}

func (f *foundOps) read(path string) {
	for rec, err := range ingest.Open(path).Records() {
		if bad := (*op.SyntaxError)(nil); errors.As(err, &bad) {
			f.Malformed++
		} else if err != nil {
			f.Unreadable = append(f.Unreadable, err)
		}
		if err == nil && rec.Entry != nil {
			f.times[rec.Entry.Step.V]++
		}
	}
}

// Of returns the number of distinct operations of a run.
func (f *foundOps) Of(run int64) (n int64) {
	for step := range f.times {
		if step/stepsPerRun == run {
			n++
		}
	}
	return n
}

// Lost returns how many of the first n operations of a run are missing.
func (f *foundOps) Lost(run, n int64) (lost int64) {
	for i := range n {
		if f.Times(run, i) == 0 {
			lost++
		}
	}
	return lost
}

// Times returns the number of occurrences of the i-th operation of a run.
func (f *foundOps) Times(run, i int64) int { return f.times[run*stepsPerRun+i] }

// Repeated returns the number of operations with several occurrences.
func (f *foundOps) Repeated() (n int64) {
	for _, times := range f.times {
		if times > 1 {
			n++
		}
	}
	return n
}
