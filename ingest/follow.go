package ingest

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/optrace/optrace/op"
)

// followInterval is how often a Follower looks for more by default.
const followInterval = 200 * time.Millisecond

// Follower reads files while they grow. It follows entries, OTLP in JSON Lines and in frames, and stdouttrace, none of
// them compressed; files of any other format it reads once, as they are. The zero value is ready to use.
type Follower struct {
	// Options says how to read.
	Options
	// Interval is how often it looks for more; 0 is 200 ms.
	Interval time.Duration
	// Started is called with the name of a file's format when that is known; nil for no call.
	Started func(format string)
	// Idle is called before the Follower waits for more; nil for no call. All records that are there have been yielded
	// by then.
	Idle func()
}

// Records yields the records of the file at path, and those that are appended to it, until ctx is done. When another
// file takes the place of the file, as in a rotation, or the file becomes shorter, it is read to its end, and the new
// content from its start. "-" is standard input, which ends. Records and errors are those of [Input.Records].
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
