package jaeger

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"

	"github.com/optrace/optrace/op"
)

// Trace is one trace as Jaeger holds it.
type Trace struct {
	ID op.TraceID
	// Entries are the operations, Spans the other spans.
	Entries []*op.Entry
	Spans   []op.Span
	// Pruned sums up operations that were not sent to Jaeger one by one.
	Pruned []op.Pruned
}

// start returns the earliest start in Unix nanoseconds, 0 where none is known.
func (t *Trace) start() int64 {
	first := int64(math.MaxInt64)
	for _, e := range t.Entries {
		if e.Start.Known {
			first = min(first, e.Start.V)
		}
	}
	for i := range t.Spans {
		if s := &t.Spans[i]; s.Start.Known {
			first = min(first, s.Start.V)
		}
	}
	if first == math.MaxInt64 {
		return 0
	}
	return first
}

// Trace returns the trace with the id, and the records that could not be read. The
// error is [ErrTraceNotFound] where Jaeger does not hold it; a
// *[op.SyntaxError] where it does and cannot hand it out, which is no reason
// not to ask for others; and any other where Jaeger cannot be asked.
func (c *Client) Trace(ctx context.Context, id op.TraceID) (*Trace, []*op.SyntaxError, error) {
	ans, err := c.call(ctx, func(a api) (string, url.Values) { return a.trace(id) })
	var failed *AnswerError
	switch {
	case errors.As(err, &failed) && failed.isNotFound():
		return nil, nil, fmt.Errorf("%w: %s", ErrTraceNotFound, id)
	case failed != nil && failed.isNotFinite():
		return nil, nil, &op.SyntaxError{File: failed.URL, Offset: -1, Class: op.ErrorRecord,
			Msg: "trace with a number that is not finite, which Jaeger cannot hand out"}
	case errors.Is(err, errTooLarge):
		return nil, nil, &op.SyntaxError{File: c.Base(), Offset: -1, Class: op.ErrorLimit, Msg: "trace left out, " + err.Error()}
	case err != nil:
		return nil, nil, err
	}
	for _, t := range ans.traces {
		if t.ID == id {
			return t, ans.problems, nil
		}
	}
	return nil, nil, fmt.Errorf("%w: %s", ErrTraceNotFound, id)
}
