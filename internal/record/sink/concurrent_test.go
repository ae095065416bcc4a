package sink

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/optrace/optrace/internal/record/encoding"
	"github.com/optrace/optrace/internal/record/encoding/entries"
	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
)

// strictTarget is a slow target. It fails the test if two goroutines use it at once, after a use behind its end, or
// after a second end.
type strictTarget struct {
	writer
	t      *testing.T
	pause  time.Duration
	inUse  atomic.Bool
	closed atomic.Bool
}

// use is called by every method. The returned function ends the use.
func (s *strictTarget) use(what string) (end func()) {
	if !s.inUse.CompareAndSwap(false, true) {
		s.t.Errorf("%s while the target is in use", what)
	}
	if s.closed.Load() {
		s.t.Errorf("%s after the end", what)
	}
	return func() { s.inUse.Store(false) }
}

func (s *strictTarget) Write(p []byte) (int, error) {
	defer s.use("a write")()
	time.Sleep(s.pause)
	return len(p), nil
}

func (s *strictTarget) Close() error {
	defer s.use("the end")()
	s.closed.Store(true)
	return nil
}

// submitOne writes a batch of one entry, or counts it as dropped where ctx ends before.
func submitOne(ctx context.Context, s *Sink) error {
	if err := s.Acquire(ctx); err != nil {
		s.Drop("timeout", 1)
		return err
	}
	b := encoding.NewBatch(0)
	b.Records = append(b.Records, `{"operation":"relu","duration_us":1}`+"\n"...)
	b.Entries = 1
	return s.Submit(ctx, b, nil)
}

// F2: batches, flushes and ends come in any order and at any moment. The target is ended once, gets no write after
// that, no call waits for ever, and every entry is written or dropped.
func TestSinkConcurrentSafe(t *testing.T) {
	const writers, batches = 3, 4
	rounds := cases.Count(t, 100, 1000)
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for round := range rounds {
			target := &strictTarget{t: t, pause: time.Duration(r.IntN(3)) * time.Millisecond}
			s := check.Must(New(target, entries.Format, None, nil))(t)
			var wg sync.WaitGroup
			at := func(do func(ctx context.Context)) { // at some moment, with some time for it
				start := time.Duration(r.IntN(20)) * time.Millisecond
				least := r.IntN(10)
				wg.Go(func() {
					ctx := context.Background()
					cancel := context.CancelFunc(func() {})
					if least > 0 {
						ctx, cancel = context.WithTimeout(ctx, time.Duration(least)*time.Millisecond)
					}
					defer cancel()
					time.Sleep(start)
					do(ctx)
				})
			}
			for range writers {
				at(func(ctx context.Context) {
					for range batches {
						err := submitOne(ctx, s)
						if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrShutdown) {
							t.Errorf("round %d: %v", round, err)
						}
					}
				})
				at(func(ctx context.Context) { // as ForceFlush does
					if s.Acquire(ctx) == nil {
						s.Release()
					}
				})
			}
			for range 2 {
				at(func(ctx context.Context) { _ = s.Shutdown(ctx) }) // its context may end
			}
			wg.Wait()
			check.OK(t, s.Shutdown(t.Context()))
			time.Sleep(time.Second) // the delayed end
			checkEnd(t, s.Stats(), writers*batches)
			if !target.closed.Load() {
				t.Errorf("round %d: the target has not ended", round)
			}
		}
	})
}
