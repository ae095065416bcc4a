package csv

import (
	"encoding/json"
	"io"

	"github.com/optrace/optrace/analyze"
)

// WriteSequences writes the table of repeated sequences; the names of the operations are a
// list in JSON.
func WriteSequences(w io.Writer, r *analyze.Report, opts Options) error {
	out, err := newWriter(w, opts, []string{"operations", "length", "count", "rounds", "sum_ns", "share", "gap_ns", "gap_share", "streams"})
	switch {
	case err != nil:
		return err
	case r.Sequences == nil:
		return out.flush()
	}
	for i := range r.Sequences.Rows {
		s := &r.Sequences.Rows[i]
		operations, err := json.Marshal(s.Operations)
		if err != nil {
			return err
		}
		out.text(string(operations))
		out.int(int64(len(s.Operations)))
		out.int(s.Count)
		out.int(s.Rounds)
		out.int(s.SumNS)
		out.knownFloat(s.Share)
		out.int(s.GapNS)
		out.knownFloat(s.GapShare)
		out.int(int64(len(s.Streams)))
		if err := out.end(); err != nil {
			return err
		}
	}
	return out.flush()
}
