package jaeger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/optrace/optrace/op"
)

// The attempts of a call. Those that fail at once are over after about three
// seconds; no attempt begins once the timeout has passed.
const (
	maxAttempts  = 6
	firstBackoff = 100 * time.Millisecond
)

var (
	errTooLarge = errors.New("the answer is too large")
	errCutOff   = errors.New("the answer was cut off")
	errNoAnswer = errors.New("no answer in time")
)

// call asks the server and returns its answer, read with the API that it has.
// Which one that is, the first call finds out.
func (c *Client) call(ctx context.Context, ask func(api) (string, url.Values)) (*answer, error) {
	if c.api != nil {
		return c.callAPI(ctx, c.api, ask)
	}
	var first error
	for _, a := range []api{apiV3{}, apiV1{}} {
		ans, err := c.callAPI(ctx, a, ask)
		var failed *AnswerError
		if errors.As(err, &failed) && failed.foreign {
			if first == nil {
				first = err
			}
			continue
		}
		if err == nil || failed != nil && failed.isNotFound() {
			c.api = a
		}
		return ans, err
	}
	return nil, first
}

// callAPI is call with one API. It tries again where that may help.
func (c *Client) callAPI(ctx context.Context, a api, ask func(api) (string, url.Values)) (*answer, error) {
	u := c.url(ask(a))
	deadline := time.Now().Add(c.opts.Timeout)
	backoff := firstBackoff
	for attempt := 1; ; attempt++ {
		ans, after, err := c.attempt(ctx, a, u, deadline)
		if err == nil || ctx.Err() != nil || !isTemporary(err) {
			return ans, err
		}
		wait := max(backoff, after)
		backoff *= 2
		if attempt == maxAttempts || time.Now().Add(wait).After(deadline) {
			return nil, fmt.Errorf("%w (tried %d times)", err, attempt)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// isTemporary reports whether err may be gone at the next attempt.
func isTemporary(err error) bool {
	if failed, ok := errors.AsType[*AnswerError](err); ok {
		return failed.isTemporary()
	}
	var name *net.DNSError
	if errors.As(err, &name) && name.IsNotFound {
		return false
	}
	return !errors.Is(err, errNoAnswer) && !errors.Is(err, errTooLarge)
}

// attempt makes one call. after is how long the server asks to wait before
// the next.
func (c *Client) attempt(ctx context.Context, a api, u *url.URL, deadline time.Time) (ans *answer, after time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(time.Until(deadline), func() { cancel(errNoAnswer) })
	defer watchdog.Stop()
	defer func() {
		if errors.Is(context.Cause(ctx), errNoAnswer) && err != nil {
			err = fmt.Errorf("%s: %w (%v)", u.Redacted(), errNoAnswer, c.opts.Timeout)
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, 0, fmt.Errorf("asking Jaeger: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.opts.HTTPClient.Do(req)
	if err != nil {
		return nil, 0, describeTransport(u, err)
	}
	// Nothing is lost when the connection cannot be used again.
	defer func() { _ = resp.Body.Close() }()
	body, err := readAnswer(resp.Body, c.opts.MaxAnswerBytes, func() { watchdog.Reset(c.opts.Timeout) })
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", u.Redacted(), err)
	}
	if failed := checkAnswer(u.Redacted(), resp.StatusCode, body); failed != nil {
		return nil, retryAfter(resp.Header), failed
	}
	ans, err = c.decode(a, u.Redacted(), body)
	return ans, 0, err
}

// describeTransport names the address, for the transport's error does not
// always, and names the likely causes.
func describeTransport(u *url.URL, err error) error {
	if transport, ok := errors.AsType[*url.Error](err); ok {
		err = transport.Err // without its own idea of the address
	}
	return fmt.Errorf("%s: %w; check that Jaeger runs at this address and can be reached", u.Redacted(), err)
}

// readAnswer reads an answer as a whole and calls progress whenever a part of
// it has come.
func readAnswer(src io.Reader, limit int64, progress func()) ([]byte, error) {
	limited := &io.LimitedReader{R: src, N: limit + 1}
	var body []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := limited.Read(buf)
		body = append(body, buf[:n]...)
		switch {
		case limited.N == 0:
			return nil, errTooLarge
		case err == io.EOF:
			return body, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return nil, errCutOff
		case err != nil:
			return nil, err
		}
		progress()
	}
}

// retryAfter returns how long the server asks to wait, 0 for nothing sensible.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseInt(h.Get("Retry-After"), 10, 16)
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// answer is an answer of the server, by trace in the order of first appearance.
type answer struct {
	traces   []*Trace
	problems []*op.SyntaxError // records that could not be read
}

// decode reads an answer and collects the records of each trace, which version
// 3 does not promise to keep together.
func (c *Client) decode(a api, url string, body []byte) (*answer, error) {
	ans := &answer{}
	byID := make(map[op.TraceID]*Trace)
	trace := func(id op.TraceID) *Trace {
		t := byID[id]
		if t == nil {
			t = &Trace{ID: id}
			byID[id] = t
			ans.traces = append(ans.traces, t)
		}
		return t
	}
	for rec, err := range a.records(body, url, c.opts.Mapping) {
		var syntax *op.SyntaxError
		switch {
		case errors.As(err, &syntax) && syntax.Truncated:
			return nil, fmt.Errorf("%s: %w", url, errCutOff)
		case syntax != nil:
			ans.problems = append(ans.problems, syntax)
		case err != nil:
			return nil, fmt.Errorf("reading %s: %w", url, err)
		case rec.Entry != nil:
			t := trace(rec.Entry.TraceID)
			t.Entries = append(t.Entries, rec.Entry.Clone())
		case rec.Span != nil:
			t := trace(rec.Span.TraceID)
			t.Spans = append(t.Spans, *rec.Span.Clone())
		}
	}
	for _, p := range a.pruned(body) {
		t := trace(p.TraceID)
		t.Pruned = append(t.Pruned, p)
	}
	return ans, nil
}
