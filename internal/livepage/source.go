package livepage

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/optrace/optrace/analyze"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/entries"
	"github.com/optrace/optrace/render/chrome"
)

// source is the view of a window as the input of a report.
type source struct{ *view }

// Read implements [analyze.Source].
func (s *source) Read(workers int, read func(worker int, file, part int64, records iter.Seq2[op.Record, error]) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, len(s.blocks)+1)
	for worker := range max(1, min(workers, len(s.blocks))) {
		wg.Go(func() {
			r := s.reader()
			for {
				i := next.Add(1) - 1
				if i >= int64(len(s.blocks)) {
					return
				}
				if errs[i] = read(worker, 0, i, r.all(s.blocks[i])); errs[i] != nil {
					next.Store(int64(len(s.blocks)))
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Files implements [analyze.Source].
func (s *source) Files() iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for _, in := range s.inputs {
			if !yield(in.format, in.bytes) {
				return
			}
		}
	}
}

type blockReader struct {
	*entries.Reader
	codec *Codec
	text  []byte // memory for the codec
}

func (v *view) reader() *blockReader {
	return &blockReader{Reader: entries.NewReader(nil, ""), codec: v.codec}
}

func (r *blockReader) all(b *block) iter.Seq2[op.Record, error] {
	return func(yield func(op.Record, error) bool) {
		text := b.text
		if r.codec != nil && len(text) > 0 {
			var err error
			if r.text, err = r.codec.Decompress(r.text, text); err != nil {
				yield(op.Record{}, fmt.Errorf("the window's own text: %w", err))
				return
			}
			text = r.text
		}
		r.Reset(bytes.NewBuffer(text), "window", op.Position{})
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

func (v *view) report(ctx context.Context, opts analyze.Options) (*analyze.Report, error) {
	return analyze.Run(ctx, &source{view: v}, opts)
}

// timeline returns the operations and spans of a view, to be written as a Chrome trace.
func (v *view) timeline() *chrome.Timeline {
	var t chrome.Timeline
	r := v.reader()
	for _, b := range v.blocks {
		for rec, err := range r.all(b) {
			switch {
			case err != nil: // a record that could not be read is no event
			case rec.Entry != nil:
				t.Add(rec.Entry)
			case rec.Span != nil:
				t.AddSpan(rec.Span)
			}
		}
	}
	return &t
}
