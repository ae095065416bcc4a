package livepage

import (
	"errors"
	"io"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/profilepush"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/otlpprofiles"
)

// Delta adds up the operations that come into a window, those of one interval after the
// other. It is used by one goroutine at a time.
//
// The spans above an operation come in after it, when they end. So operations are added up
// when one more interval is over: with the spans and operations of the intervals before and
// after as what lies above and below them.
type Delta struct {
	window *Window
	limits stacks.Limits
	// marks are the ends of the last three intervals, the oldest first.
	marks [3]mark
}

// mark says how many blocks and operations had come into a window.
type mark struct{ blocks, operations int64 }

// Interval is what is known of the operations of an interval.
type Interval struct {
	Stacks *stacks.Table
	// Producers are those of the operations.
	Producers otlpprofiles.Producers
	// Came is how many operations came in, and Lost how many of them fell out of the window
	// before they were added up.
	Came, Lost int64
	// Dropped is how many operations the recorders say they lost, Unread how many records
	// could not be read.
	Dropped, Unread int64
}

// ProfileLimits bounds the profile of an interval, so that receivers take it.
var ProfileLimits = stacks.Limits{Stacks: 1 << 14, Shapes: 1 << 15, Requests: 1 << 16}

// Profile returns the profile of the interval, as a version of the program makes it.
func (i *Interval) Profile(version string) (profile profilepush.Profile, err error) {
	profile.Operations, profile.Missed = i.Stacks.Operations(), i.Lost
	if profile.Operations == 0 {
		return profile, nil
	}
	opts := otlpprofiles.Options{Producers: &i.Producers}
	opts.Version, opts.Lost, opts.Unread = version, i.Lost+i.Dropped, i.Unread
	profile.Message, err = profilepush.Compress(func(w io.Writer) error { return otlpprofiles.Write(w, i.Stacks, opts) })
	return profile, err
}

// Delta returns a Delta of what comes in from now on. It has as many stacks as limits says.
func (w *Window) Delta(limits stacks.Limits) *Delta {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &Delta{window: w, limits: limits, marks: [3]mark{w.came, w.came, w.came}}
}

// Next ends an interval, and returns the sums of that before it; those of both the last time.
func (d *Delta) Next(last bool) (*Interval, error) {
	v := d.window.view()
	before, from, to := d.marks[0], d.marks[1], d.marks[2]
	d.marks = [3]mark{from, to, v.came}
	if last {
		to = v.came
	}
	first := v.came.blocks - int64(len(v.blocks)) // the number of the first block
	all := &Interval{Came: to.operations - from.operations, Lost: to.operations - from.operations}
	forest, reader := trace.New(), newReader()
	forest.KeepShapes()
	start, end := -1, -1 // of the rows that count
	for i, b := range v.blocks {
		number := first + int64(i)
		if number < before.blocks {
			continue
		}
		counts := from.blocks <= number && number < to.blocks
		if counts {
			all.Lost -= int64(b.operations)
			if start < 0 {
				start = forest.Len()
			}
		}
		for rec, err := range b.read(reader) {
			syntax, ok := errors.AsType[*op.SyntaxError](err)
			if err != nil && !ok {
				return all, err
			}
			forest.Add(rec)
			if counts {
				all.note(rec, syntax)
			}
		}
		if counts {
			end = forest.Len()
		}
	}
	all.Stacks = stacks.NewTable(d.limits)
	all.Stacks.Merge(stacks.OfRange(forest, start, end))
	return all, nil
}

// note notes what profiles tell of a record beside their sums, or of one that could not be
// read.
func (i *Interval) note(rec op.Record, err *op.SyntaxError) {
	switch {
	case err != nil:
		i.Unread += err.Count()
	case rec.Resource != nil:
		i.Producers.Resource(rec.Resource)
	case rec.Entry != nil:
		i.Producers.Operation(rec.Entry)
	case rec.Gap != nil:
		i.Dropped += rec.Gap.Dropped
	}
}
