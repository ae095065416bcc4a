package analyze

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/internal/testing/recordtest"
	"github.com/optrace/optrace/op"
)

// countdown is a context that is done after a number of calls of Err, and counts them.
type countdown struct {
	context.Context
	left, looks atomic.Int64
}

func (c *countdown) Err() error {
	c.looks.Add(1)
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func until(looks int64) *countdown {
	c := &countdown{Context: context.Background()}
	c.left.Store(looks)
	return c
}

// Run checks its context often and returns soon after the context is done, in every phase.
func TestRunEndsWithContext(t *testing.T) {
	const n = 4_000
	records := make([]op.Record, 0, 2*n)
	for i := range n {
		root := op.Span{Name: fmt.Sprint("GET /", i), TraceID: op.TraceID{14: byte(i >> 8), 15: byte(i)},
			SpanID: op.SpanID{0: 1, 7: 1},
			Start:  op.Known(int64(100 * i)), Duration: 300}
		e := op.Entry{Operation: "matmul", DeviceID: "cuda:0", TraceID: root.TraceID, SpanID: op.SpanID{0: 1, 7: 2},
			ParentSpanID: root.SpanID, Start: op.Known(int64(100*i + 10)), Duration: 50}
		root.TraceID[13] = 1
		e.TraceID[13] = 1
		if i > 0 && i%3 == 0 {
			root.Links = []op.Link{{TraceID: op.TraceID{13: 1, 14: byte((i - 1) >> 8), 15: byte(i - 1)},
				SpanID: root.SpanID}}
		}
		records = append(records, op.Record{Span: &root}, op.Record{Entry: &e})
	}
	run := func(c *countdown) error {
		_, err := Run(c, Records(recordtest.All(records...)), Options{})
		return err
	}
	whole := until(1 << 60)
	check.OK(t, run(whole))
	all := whole.looks.Load()
	if all < n {
		t.Errorf("only %d looks at the context in %d records", all, 2*n)
	}
	for part := range int64(8) {
		c := until(part * all / 20)
		if err := run(c); !errors.Is(err, context.Canceled) {
			t.Fatalf("canceled after %d of %d looks: %v", part*all/8, all, err)
		}
		if further := c.looks.Load() - part*all/8; further > 64 {
			t.Errorf("canceled after %d of %d looks, there were %d more", part*all/8, all, further)
		}
	}
}
