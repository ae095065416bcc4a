package ingest

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/optrace/optrace/op"
)

const followInterval = 200 * time.Millisecond

// Follower reads files while they grow. It follows uncompressed entries, OTLP in JSON Lines and in frames, and
// stdouttrace. It reads other files once. The zero value is ready to use.
type Follower struct {
	// Options says how to read.
	Options
	// Interval is the time between two looks at the file; 0 is 200 ms.
	Interval time.Duration
	// Started is called with the name of the format once it is known; nil for no call.
	Started func(format string)
	// Idle is called before the Follower waits; nil for no call. By then it has yielded every record in the file.
	Idle func()
}

// Records yields the records of the file at path, and the records appended to it, until ctx is done. If another file
// replaces it, as a rotation does, or it becomes shorter, Records reads the old file to its end and then the new
// content from its start. "-" is standard input and ends with it. Records and errors are as in [Input.Records].
func (f Follower) Records(ctx context.Context, path string) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		for {
			t := &tail{ctx: ctx, path: path, interval: cmp.Or(f.Interval, followInterval), format: f.Started,
				idle: f.Idle}
			opts := f.Options
			opts.tail = t
			for rec, err := range opts.Open(path).Records() {
				if _, ok := errors.AsType[*op.SyntaxError](err); err != nil && !ok && t.replaced {
					break // too little to tell the format
				}
				if ctx.Err() != nil || !yield(rec, err) {
					return
				}
			}
			if !t.replaced || !t.awaitFile() {
				return
			}
		}
	}
}
