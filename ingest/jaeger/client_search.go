package jaeger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/optrace/optrace/op"
)

// Query selects the traces with a matching span.
type Query struct {
	// Service is required. Operation is the span's name; "" matches any.
	Service, Operation string
	// Start and End bound the start of the span; both are required.
	Start, End time.Time
	// MinDuration is the least duration of the span; 0 matches any.
	MinDuration time.Duration
	// Limit is the number of traces, the latest first; it must be positive.
	Limit int
}

func (q *Query) request(w window, limit int) request {
	duration := ""
	if q.MinDuration > 0 {
		duration = q.MinDuration.String()
	}
	return request{query: map[version]url.Values{
		v3: {
			"query.service_name": {q.Service}, "query.operation_name": {q.Operation}, "query.duration_min": {duration},
			"query.start_time_min": {w.from.UTC().Format(time.RFC3339Nano)},
			"query.start_time_max": {w.to.UTC().Format(time.RFC3339Nano)},
			"query.num_traces":     {strconv.Itoa(limit)}, "query.raw_traces": {"true"},
		},
		v1: {
			"service": {q.Service}, "operation": {q.Operation}, "minDuration": {duration},
			"start": {strconv.FormatInt(w.from.UnixMicro(), 10)}, "end": {strconv.FormatInt(w.to.UnixMicro(), 10)},
			"limit": {strconv.Itoa(limit)}, "raw": {"true"},
		},
	}}
}

// The bounds of a search.
const (
	// pageTraces is the number of traces per call. Storages refuse very large numbers.
	pageTraces = 100
	minWindow  = time.Microsecond // the shortest window to divide: Jaeger's storages keep microseconds
	// minFailing is minWindow for a window with a trace that fails. A shorter one would cost a call for each of its
	// spans.
	minFailing = time.Millisecond
	// minSearchCalls is the number of calls that every search may make; a server may ignore the window. A search for
	// many traces may make one more call per tracesPerCall traces.
	minSearchCalls = 1000
	tracesPerCall  = 10
	// maxTooLarge bounds the answers above the size limit. Finding the one such trace in an hour takes about 40.
	maxTooLarge = 200
)

// window is a range of time, both ends included.
type window struct{ from, to time.Time }

// Search yields the traces of q, each once, roughly the latest first. It yields a *[op.SyntaxError] for each unreadable
// part of an answer and for each window with a trace that Jaeger fails to return. Any other error is the last value.
//
// Jaeger has no pages: it returns at most the requested number of traces and does not say whether there are more.
// Search divides the window of a full answer until the answers are complete.
func (c *Client) Search(ctx context.Context, q Query) iter.Seq2[*Trace, error] {
	return func(yield func(*Trace, error) bool) {
		switch {
		case q.Service == "":
			yield(nil, errors.New("searching Jaeger: no service"))
			return
		case q.Limit <= 0 || !q.Start.Before(q.End):
			yield(nil, errors.New("searching Jaeger: an empty range of time or number of traces"))
			return
		}
		s := &search{
			client: c, query: &q, page: pageTraces, yield: yield, seen: make(map[op.TraceID]struct{}),
			windows: []window{{q.Start.Truncate(time.Microsecond),
				q.End.Add(time.Microsecond - 1).Truncate(time.Microsecond)}},
		}
		most := minSearchCalls + q.Limit/tracesPerCall
		for calls := 0; len(s.windows) > 0 && len(s.seen) < q.Limit; calls++ {
			if calls == most || s.tooLarge == maxTooLarge {
				yield(nil, fmt.Errorf("searching Jaeger at %s: incomplete after %d calls, %d with too large answers; "+
					"search in less time or with a longer minimal duration", c.Base(), calls, s.tooLarge))
				return
			}
			if !s.next(ctx) {
				return
			}
		}
	}
}

type search struct {
	client   *Client
	query    *Query
	page     int // how many traces to ask for at a time
	windows  []window
	seen     map[op.TraceID]struct{}
	yield    func(*Trace, error) bool
	tooLarge int
}

func (s *search) next(ctx context.Context) bool {
	w := s.windows[len(s.windows)-1]
	s.windows = s.windows[:len(s.windows)-1]
	ans, err := s.client.call(ctx, s.query.request(w, s.page))
	if errors.Is(err, errTooLarge) {
		s.tooLarge++
	}
	failed, isAnswer := errors.AsType[*answerError](err)
	switch {
	case err == nil && len(ans.traces) >= s.page:
		return s.divide(w, minWindow) || s.emit(ans) && s.problem(w, op.ErrorLimit, "%d traces or more", s.page)
	case err == nil:
		return s.emit(ans)
	case isAnswer && failed.isNotFound():
		return true
	case isAnswer && failed.isTooMany() && s.page > 1, errors.Is(err, errTooLarge) && s.page > 1:
		s.page = max(1, s.page/4)
		s.windows = append(s.windows, w)
		return true
	case isAnswer && failed.isNotFinite():
		return s.divide(w, minFailing) ||
			s.problem(w, op.ErrorRecord, "a trace with a number that is not finite: Jaeger cannot return it")
	case errors.Is(err, errTooLarge):
		return s.divide(w, minWindow) || s.problem(w, op.ErrorLimit, "%w", err)
	}
	s.yield(nil, err)
	return false
}

// divide replaces w by its halves. It reports false if w is too small.
func (s *search) divide(w window, smallest time.Duration) bool {
	if w.to.Sub(w.from) <= smallest {
		return false
	}
	middle := w.from.Add(w.to.Sub(w.from) / 2).Truncate(time.Microsecond)
	// The later half comes next.
	s.windows = append(s.windows, window{w.from, middle.Add(-time.Microsecond)}, window{middle, w.to})
	return true
}

// emit yields the new traces of an answer: the spans of a trace may start in several windows.
func (s *search) emit(ans *answer) bool {
	for _, p := range ans.problems {
		if !s.yield(nil, p) {
			return false
		}
	}
	slices.SortStableFunc(ans.traces, func(a, b *Trace) int { return cmp.Compare(b.start.V, a.start.V) })
	for _, t := range ans.traces {
		if _, seen := s.seen[t.ID]; seen {
			continue
		}
		if len(s.seen) == s.query.Limit {
			return false
		}
		s.seen[t.ID] = struct{}{}
		if !s.yield(t, nil) {
			return false
		}
	}
	return true
}

func (s *search) problem(w window, class op.ErrorClass, format string, args ...any) bool {
	msg := fmt.Errorf(format, args...).Error() + fmt.Sprintf(", within %v from %s: left out", w.to.Sub(w.from),
		w.from.UTC().Format(time.RFC3339Nano))
	return s.yield(nil, &op.SyntaxError{File: s.client.Base(), Offset: -1, Msg: msg, Class: class})
}
