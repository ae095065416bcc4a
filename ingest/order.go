package ingest

import (
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/optrace/optrace/op"
)

// InOrder calls f with all that [Input.Records] yields, in the same order, while several
// goroutines read ahead of it, each a part of the input as [Input.Read] has them. Calls
// of f follow one another, in any of the goroutines. InOrder returns the error that ends
// the reading, or the first one that f returns. A record is valid until f returns, and
// has all of its fields: Omit is not to be called.
func (in *Input) InOrder(workers int, f func(op.Record, error) error) error {
	workers = max(1, workers)
	o := &ordered{f: f, held: make([][]heldRecord, workers)}
	o.cond = sync.NewCond(&o.mu)
	return in.read(&partQueue{in: in, ordered: true}, workers, o.part)
}

// ordered brings the parts of an input into its order.
type ordered struct {
	f func(op.Record, error) error
	// held has memory for the records that each goroutine holds.
	held [][]heldRecord

	turn atomic.Int64 // the part whose records f is called with
	mu   sync.Mutex   // guards ended and changes of turn
	cond *sync.Cond
	// ended is set once a part has failed: those behind it are not wanted.
	ended bool

	// What follows belongs to the goroutine whose turn it is.

	file int64
	// known is set once a resource was handed out, stale where it is that of a file
	// before.
	known, stale bool
}

// maxAhead is the number of records that a goroutine holds until it is its turn.
const maxAhead = 1 << 13

// errEnded is the error of a part behind one that has failed.
var errEnded = errors.New("a part before has failed")

// part reads a part: it holds copies of the records until it is the part's turn, and
// hands out the rest as they are.
func (o *ordered) part(worker int, file, number int64, records iter.Seq2[op.Record, error]) (err error) {
	defer func() { o.pass(number, err) }()
	held := o.held[worker][:0]
	mine := false
	for rec, err := range records {
		final := err != nil && !isSyntax(err)
		if !mine && !final && len(held) < maxAhead && o.turn.Load() != number {
			held = slices.Grow(held, 1)[:len(held)+1]
			held[len(held)-1].set(rec, err)
			o.held[worker] = held
			continue
		}
		if !mine {
			mine = true
			if err := o.release(file, number, held); err != nil {
				return err
			}
		}
		if final {
			return err
		}
		if err := o.give(file, rec, err); err != nil {
			return err
		}
	}
	if mine {
		return nil
	}
	return o.release(file, number, held)
}

// heldRecord is a copy of a record, or the error in its place.
type heldRecord struct {
	rec   op.Record
	entry *op.EntryCopy
	err   error
}

// set copies a record, which belongs to its reader.
func (h *heldRecord) set(rec op.Record, err error) {
	rec.Whole = nil // which reads the text of the part
	switch {
	case rec.Entry != nil:
		if h.entry == nil {
			h.entry = new(op.EntryCopy)
		}
		rec.Entry = h.entry.Set(rec.Entry)
	case rec.Span != nil:
		rec.Span = rec.Span.Clone()
	case rec.Call != nil:
		rec.Call = rec.Call.Clone()
	case rec.Resource != nil:
		rec.Resource = rec.Resource.Clone()
	case rec.Gap != nil:
		gap := *rec.Gap
		rec.Gap = &gap
	case rec.Batch != nil:
		batch := *rec.Batch
		rec.Batch = &batch
	case rec.Total != nil:
		total := *rec.Total
		rec.Total = &total
	}
	h.rec, h.err = rec, err
}

// release waits for the turn of a part and hands out its records.
func (o *ordered) release(file, number int64, held []heldRecord) error {
	o.mu.Lock()
	for o.turn.Load() != number && !o.ended {
		o.cond.Wait()
	}
	ended := o.ended
	o.mu.Unlock()
	if ended {
		return errEnded
	}
	for i := range held {
		if err := o.give(file, held[i].rec, held[i].err); err != nil {
			return err
		}
	}
	return nil
}

// pass ends the turn of a part, which err ended early.
func (o *ordered) pass(number int64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.ended = true
	} else {
		o.turn.Store(number + 1)
	}
	o.cond.Broadcast()
}

// give calls f with a record of a file. In front of the first operation or span of a file
// without a resource of its own stands an empty one.
func (o *ordered) give(file int64, rec op.Record, err error) error {
	if file != o.file {
		o.file, o.stale = file, o.known
	}
	switch {
	case rec.Resource != nil:
		o.known, o.stale = true, false
	case o.stale && (rec.Entry != nil || rec.Span != nil):
		o.known, o.stale = false, false
		if err := o.f(op.Record{Resource: &op.Resource{}}, nil); err != nil {
			return err
		}
	}
	return o.f(rec, err)
}
