package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/ingest"
)

// tally adds up what files hold, in the order in which they were written.
type tally struct {
	entries, dropped, batches, holes uint64
	next                             int64 // sequence number of the next batch
}

// read adds the file at path.
func (t *tally) read(path string) error {
	for rec, err := range ingest.Open(path).Records() {
		switch {
		case err != nil:
			return err
		case rec.Entry != nil:
			t.entries++
		case rec.Gap != nil:
			t.dropped += uint64(rec.Gap.Dropped)
		case rec.Batch != nil:
			t.batches++
			if rec.Batch.Sequence != t.next {
				t.holes++
			}
			t.next = rec.Batch.Sequence + 1
		}
	}
	return nil
}

// check holds what was read against the stats.
func (t *tally) check(format optrace.Format, st optrace.Stats, out io.Writer) error {
	fmt.Fprintf(out, "  read back: %d entries in %d batches, gap records of %d, %d holes\n", t.entries, t.batches, t.dropped, t.holes)
	if format != optrace.FormatEntries {
		t.dropped = st.Dropped // they have no gap records
	}
	if t.entries != st.Written || t.dropped != st.Dropped || st.Recorded != t.entries+t.dropped || t.holes > 0 {
		return errors.New("the accounting does not add up")
	}
	fmt.Fprintln(out, "  the accounting adds up")
	return nil
}
