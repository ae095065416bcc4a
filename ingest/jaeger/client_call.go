package jaeger

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// The attempts of a call. Those that fail at once are over after about three
// seconds; no attempt begins once the timeout has passed.
const (
	maxAttempts  = 6
	firstBackoff = 100 * time.Millisecond
)

var (
	errTooLarge = errors.New("the answer is too large")
	errNoAnswer = errors.New("no answer in time")
	errRedirect = errors.New("redirects")
)

// call asks the server and returns its answer, read with the API that it has.
// Which one that is, the first call finds out.
func (c *Client) call(ctx context.Context, ask func(api) (string, url.Values)) (*answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.opts.Timeout, errNoAnswer)
	defer cancel()
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
	deadline, _ := ctx.Deadline()
	backoff := firstBackoff
	for attempt := 1; ; attempt++ {
		ans, after, err := c.attempt(ctx, a, u)
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
	return !errors.Is(err, errNoAnswer) && !errors.Is(err, errTooLarge) && !errors.Is(err, errRedirect) && !errors.Is(err, errDamaged)
}

// attempt makes one call. after is how long the server asks to wait before
// the next.
func (c *Client) attempt(ctx context.Context, a api, u *url.URL) (ans *answer, after time.Duration, err error) {
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
	req.Header.Set("Accept-Encoding", "gzip") // asked for here, the transport leaves it as it is
	resp, err := c.opts.HTTPClient.Do(req)
	if err != nil {
		return nil, 0, describeTransport(u, err)
	}
	// Nothing is lost when the connection cannot be used again.
	defer func() { _ = resp.Body.Close() }()
	body, err := readBody(resp, c.opts.MaxAnswerBytes)
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
	if errors.Is(err, errRedirect) {
		return fmt.Errorf("%s: the server %w", u.Redacted(), err)
	}
	return fmt.Errorf("%s: %w; check that Jaeger runs at this address and can be reached", u.Redacted(), err)
}

// checkRedirect refuses redirects to other hosts: who answers at an address may not choose
// whom the client asks next.
func checkRedirect(req *http.Request, via []*http.Request) error {
	const most = 10
	from, to := via[0].URL, req.URL
	switch {
	case len(via) >= most:
		return fmt.Errorf("%w %d times", errRedirect, most)
	case from.Host == to.Host && (from.Scheme == to.Scheme || to.Scheme == "https"):
		return nil
	case from.Scheme == "http" && to.Scheme == "https" && from.Hostname() == to.Hostname() && to.Port() == "":
		return nil
	}
	there := url.URL{Scheme: to.Scheme, Host: to.Host}
	return fmt.Errorf("%w to another host, %q, which has to be allowed", errRedirect, there.String())
}

// retryAfter returns how long the server asks to wait, 0 for nothing sensible.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseInt(h.Get("Retry-After"), 10, 16)
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
