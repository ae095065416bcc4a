package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
)

// reader reads files in the order in which they were written, adds up what they hold,
// and removes them.
type reader struct {
	path string // of the current file
	out  io.Writer

	entries, dropped, batches, holes uint64
	next                             int64 // sequence number of the next batch
	files                            int
	bytes                            int64
	heap, system                     uint64 // the most, the heap after a collection
	nextReport                       time.Time
}

// follow reads the files that are rotated until ctx ends.
func (r *reader) follow(ctx context.Context) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
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

// rotated takes the files that are finished. Their names sort by age.
func (r *reader) rotated() error {
	found, err := os.ReadDir(filepath.Dir(r.path))
	for _, e := range found {
		if path := filepath.Join(filepath.Dir(r.path), e.Name()); path != r.path && err == nil {
			err = r.take(path)
		}
	}
	return err
}

func (r *reader) take(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() == 0 {
		return err // some systems reserve the name of a file that is about to be rotated
	}
	for rec, err := range ingest.Open(path).Records() {
		switch {
		case err != nil:
			return err
		case rec.Entry != nil:
			r.entries++
		case rec.Gap != nil:
			r.dropped += uint64(rec.Gap.Dropped)
		case rec.Batch != nil:
			r.batches++
			if rec.Batch.Sequence != r.next {
				r.holes++
			}
			r.next = rec.Batch.Sequence + 1
		}
	}
	r.files++
	r.bytes += info.Size()
	return os.Remove(path)
}

func (r *reader) memory() {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	r.heap, r.system = max(r.heap, m.HeapAlloc), max(r.system, m.Sys)
	fmt.Fprintf(r.out, "  %d operations read in %d files, live heap %.1f MB, obtained from the system %.1f MB\n",
		r.entries, r.files, float64(m.HeapAlloc)/1e6, float64(m.Sys)/1e6)
}

func (r *reader) check(format optrace.Format, st optrace.Stats) error {
	fmt.Fprintf(r.out, "  read back: %d entries in %d batches, gap records of %d, %d holes\n", r.entries, r.batches, r.dropped, r.holes)
	if format != optrace.FormatEntries {
		r.dropped = st.Dropped // they have no gap records
	}
	if r.entries != st.Written || r.dropped != st.Dropped || st.Recorded != r.entries+r.dropped || r.holes > 0 {
		return errors.New("the accounting does not add up")
	}
	fmt.Fprintln(r.out, "  the accounting adds up")
	return nil
}
