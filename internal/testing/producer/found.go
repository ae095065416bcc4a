package producer

import (
	"errors"
	"math"
	"os"
	"path/filepath"

	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/op"
)

// Found has the operations in the files of a directory.
type Found struct {
	// Malformed counts the unreadable records.
	Malformed int
	// Unreadable has the errors of files that could not be read to their end.
	Unreadable []error

	runs map[int64][]uint8 // number of occurrences by run and operation
}

// Find reads the files in dir, in any format.
func Find(dir string) (*Found, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	f := &Found{runs: make(map[int64][]uint8)}
	for _, file := range files {
		f.read(filepath.Join(dir, file.Name()))
	}
	return f, nil
}

func (f *Found) read(path string) {
	for rec, err := range ingest.Open(path).Records() {
		if bad := (*op.SyntaxError)(nil); errors.As(err, &bad) {
			f.Malformed++
		} else if err != nil {
			f.Unreadable = append(f.Unreadable, err)
		}
		if err != nil || rec.Entry == nil {
			continue
		}
		run := rec.Entry.Step.V / stepsPerRun
		i := rec.Entry.Step.V % stepsPerRun
		for int64(len(f.runs[run])) <= i {
			f.runs[run] = append(f.runs[run], 0)
		}
		if n := &f.runs[run][i]; *n < math.MaxUint8 {
			*n++
		}
	}
}

// Of returns the number of distinct operations of a run.
func (f *Found) Of(run int64) (n int64) {
	for _, times := range f.runs[run] {
		if times > 0 {
			n++
		}
	}
	return n
}

// Lost returns how many of the first n operations of a run are missing.
func (f *Found) Lost(run, n int64) (lost int64) {
	of := f.runs[run]
	for i := range n {
		if i >= int64(len(of)) || of[i] == 0 {
			lost++
		}
	}
	return lost
}

// Times returns the number of occurrences of the i-th operation of a run.
func (f *Found) Times(run, i int64) int {
	if of := f.runs[run]; i < int64(len(of)) {
		return int(of[i])
	}
	return 0
}

// Repeated returns the number of operations with several occurrences.
func (f *Found) Repeated() (n int64) {
	for _, of := range f.runs {
		for _, times := range of {
			if times > 1 {
				n++
			}
		}
	}
	return n
}
