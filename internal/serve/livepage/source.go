package livepage

import (
	"bytes"
	"context"
	"iter"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/render/chrome"
)

// Read implements [analyze.Source], with one worker.
func (v *view) Read(_ int, read func(worker int, file, part int64, records iter.Seq2[op.Record, error]) error) error {
	r := entries.NewReader(nil, "")
	for i, b := range v.blocks {
		if err := read(0, 0, int64(i), b.read(r)); err != nil {
			return err
		}
	}
	return nil
}

// Files implements [analyze.Source].
func (v *view) Files() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for _, in := range v.inputs {
			if !yield(in.format, in.bytes) {
				return
			}
		}
	}
}

// read yields the records of the block and the errors of unreadable ones.
func (b *block) read(r *entries.Reader) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		r.Reset(bytes.NewReader(b.text), "window", op.Position{})
		for rec, err := range r.Records() {
			if !yield(rec, err) {
				return
			}
		}
		for _, rec := range b.others {
			if !yield(rec, nil) {
				return
			}
		}
		for _, err := range b.errors {
			if !yield(op.Record{}, err) {
				return
			}
		}
	}
}

// timeline returns the operations and spans of a view for a Chrome trace, or the error of ctx if it is done first.
func (v *view) timeline(ctx context.Context) (*chrome.Timeline, error) {
	var t chrome.Timeline
	r := entries.NewReader(nil, "")
	for _, b := range v.blocks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for rec, err := range b.read(r) {
			switch {
			case err != nil: // an unreadable record is not an event
			case rec.Entry != nil:
				t.Add(rec.Entry)
			case rec.Span != nil:
				t.AddSpan(rec.Span)
			}
		}
	}
	return &t, nil
}
