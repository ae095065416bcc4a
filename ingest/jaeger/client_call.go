package jaeger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/optrace/optrace/internal/text/lexer"
)

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

func isTemporary(err error) bool {
	if failed, ok := errors.AsType[*answerError](err); ok {
		return failed.isTemporary()
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok && name.IsNotFound {
		return false
	}
	return !errors.Is(err, errNoAnswer) && !errors.Is(err, errTooLarge) && !errors.Is(err, errRedirect)
}

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

type answerError struct {
	url     string // of the request, without a password
	status  int    // of HTTP, or as stated in the answer
	message string // of the server, or a description of an answer without JSON
	foreign bool   // not from Jaeger's API
}

// Error states the address, the answer and the likely cause.
func (e *answerError) Error() string {
	text := fmt.Sprintf("%s: status %d: %q", e.url, e.status, e.message)
	switch {
	case e.status == http.StatusUnauthorized || e.status == http.StatusForbidden:
		return text + "; the address may contain a name and password: http://name:password@host"
	case e.foreign:
		return text + "; use the address of Jaeger's pages, usually port 16686, with their path"
	}
	return text
}

func (e *answerError) isNotFound() bool { return e.status == http.StatusNotFound && !e.foreign }

// isNotFinite reports whether Jaeger failed to write a number as JSON. Version 1 of its API fails for such a trace.
func (e *answerError) isNotFinite() bool {
	return e.status == http.StatusInternalServerError && strings.Contains(e.message, "unsupported value")
}

func (e *answerError) isTooMany() bool { return strings.Contains(e.message, "search depth") }

func (e *answerError) isTemporary() bool {
	switch e.status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return e.status == http.StatusInternalServerError && !e.isNotFinite() && !e.isTooMany()
}

func checkAnswer(url string, status int, body []byte) error {
	text := bytes.TrimLeft(body, "\ufeff \t\r\n")
	failed := &answerError{url: url, status: status}
	switch lower := bytes.ToLower(text[:min(len(text), 512)]); {
	case len(text) == 0:
		failed.message = "an empty answer"
	case bytes.Contains(lower, []byte("<html")):
		failed.message = "a web page, not JSON"
	case text[0] != '{':
		failed.message = excerpt(text)
	default:
		msg, isError := failure(text)
		switch {
		case isError:
			failed.status = max(status, http.StatusBadRequest)
			failed.message = msg
		case status == http.StatusOK:
			return nil
		default:
			failed.message = excerpt(text)
			failed.foreign = status == http.StatusNotFound
		}
		return failed
	}
	// A proxy in front of Jaeger has error messages of its own.
	failed.foreign = status < http.StatusInternalServerError && status != http.StatusTooManyRequests
	return failed
}

// failure returns the message of an answer with an error instead of data. It stops reading at the data.
func failure(body []byte) (msg string, failed bool) {
	var l lexer.Lexer
	l.Reset(body)
	for l.Object(); l.More(); {
		switch string(l.Key()) {
		case "error", "errors":
			text := l.Raw()
			if string(text) != "null" && string(text) != "[]" {
				return message(text), true
			}
		case "data", "result":
			if !l.Null() {
				return "", false
			}
		default:
			l.Skip()
		}
	}
	return "", false
}

// message returns the text of the error part of an answer, "" if there is none:
//
//	"not found"
//	{"httpCode":404,"message":"No traces found"}
//	[{"code":500,"msg":"json: unsupported value: NaN"}]
func message(text []byte) string {
	var l lexer.Lexer
	l.Reset(text)
	if l.Peek() == '[' {
		if l.Array(); !l.More() {
			return ""
		}
	}
	switch l.Peek() {
	case '"':
		return strings.ToValidUTF8(string(l.Str()), "\ufffd")
	case '{':
		for l.Object(); l.More(); {
			if key := string(l.Key()); (key == "message" || key == "msg") && l.Peek() == '"' {
				return strings.ToValidUTF8(string(l.Str()), "\ufffd")
			}
			l.Skip()
		}
		return string(text)
	}
	return ""
}

func excerpt(text []byte) string {
	const length = 120
	if len(text) <= length {
		return strings.ToValidUTF8(string(bytes.TrimSpace(text)), "\ufffd")
	}
	return strings.ToValidUTF8(string(text[:length]), "\ufffd") + "…"
}
