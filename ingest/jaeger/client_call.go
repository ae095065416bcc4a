package jaeger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"time"
)

// version is a version of Jaeger's HTTP API.
type version int

const (
	v1 version = 1 // Jaeger's own JSON, see [Records]
	v3 version = 3 // OTLP
)

var paths = map[version]string{v1: "/api/traces", v3: "/api/v3/traces"}

// request is the request of a call: the path below the path of traces, and the query of each version. Empty values are
// not sent.
type request struct {
	below string
	query map[version]url.Values
}

// The attempts of a call. Attempts that fail at once end after about three seconds. No attempt begins after the
// timeout.
const (
	maxAttempts  = 6
	firstBackoff = 100 * time.Millisecond
)

var (
	errTooLarge = errors.New("the answer is too large")
	errNoAnswer = errors.New("no answer in time")
	errRedirect = errors.New("redirects")
)

// call sends a request and returns the answer. The first call finds out the API version.
func (c *Client) call(ctx context.Context, r request) (*answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.opts.Timeout, errNoAnswer)
	defer cancel()
	if c.version != 0 {
		return c.callVersion(ctx, c.version, r)
	}
	var first error
	for _, v := range []version{v3, v1} {
		ans, err := c.callVersion(ctx, v, r)
		failed, ok := errors.AsType[*answerError](err)
		if ok && failed.foreign {
			if first == nil {
				first = err
			}
			continue
		}
		if err == nil || ok && failed.isNotFound() {
			c.version = v
		}
		return ans, err
	}
	return nil, first
}

// callVersion is call with one version. It retries after temporary errors.
func (c *Client) callVersion(ctx context.Context, v version, r request) (*answer, error) {
	u := *c.base
	u.Path += paths[v] + r.below
	maps.DeleteFunc(r.query[v], func(_ string, values []string) bool { return values[0] == "" })
	u.RawQuery = r.query[v].Encode()
	deadline, _ := ctx.Deadline()
	for attempt, wait := 1, firstBackoff; ; attempt, wait = attempt+1, 2*wait {
		ans, err := c.attempt(ctx, v, &u)
		if err == nil || ctx.Err() != nil || !isTemporary(err) {
			return ans, err
		}
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

// isTemporary reports whether another attempt may succeed.
func isTemporary(err error) bool {
	if failed, ok := errors.AsType[*answerError](err); ok {
		return failed.isTemporary()
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok && name.IsNotFound {
		return false
	}
	return !errors.Is(err, errNoAnswer) && !errors.Is(err, errTooLarge) && !errors.Is(err, errRedirect)
}

// attempt makes one attempt. The transport decompresses gzip.
func (c *Client) attempt(ctx context.Context, v version, u *url.URL) (*answer, error) {
	asked := *u
	asked.RawQuery = "" // long, and known to the caller
	address := asked.Redacted()
	fail := func(err error) (*answer, error) {
		if errors.Is(context.Cause(ctx), errNoAnswer) {
			err = fmt.Errorf("%w (%v)", errNoAnswer, c.opts.Timeout)
		}
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fail(err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.opts.HTTPClient.Do(req)
	if err != nil {
		return fail(describeTransport(err))
	}
	// An error of Close loses no data.
	defer func() { _ = resp.Body.Close() }()
	limit := c.opts.MaxMemory / answersPerMemory
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case int64(len(body)) > limit:
		return fail(errTooLarge)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fail(errCutOff)
	case err != nil:
		return fail(err)
	}
	if failed := checkAnswer(address, resp.StatusCode, body); failed != nil {
		return nil, failed
	}
	ans, err := c.decode(v, address, body)
	if err != nil {
		return fail(err)
	}
	return ans, nil
}

// describeTransport adds the likely cause to an error of the transport and removes the address.
func describeTransport(err error) error {
	if transport, ok := errors.AsType[*url.Error](err); ok {
		err = transport.Err
	}
	if errors.Is(err, errRedirect) {
		return fmt.Errorf("the server %w", err)
	}
	return fmt.Errorf("%w; check that Jaeger runs at this address and can be reached", err)
}

// checkRedirect refuses redirects to other hosts: a server must not choose the client's next host.
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
