package profilepush

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Path is where receivers of OTLP take profiles, as of their version in development.
const Path = "/v1development/profiles"

// attemptTimeout is how long a receiver may take for its answer, and maxAnswer how long that
// may be.
const (
	attemptTimeout = 10 * time.Second
	maxAnswer      = 64 << 10
)

// Client posts profiles to one address. It is safe for concurrent use.
type Client struct {
	url   *url.URL
	http  *http.Client
	owned bool // nobody else uses the transport
}

// NewClient returns a Client of an address, to which [Path] is appended where it has no path
// of its own. A nil client makes no difference to a new one. Redirects are followed on the
// same host, and to https:// from http://, where they keep the method; a client with a
// CheckRedirect of its own decides by that. An error does not show an address that may hold a
// password or a token.
func NewClient(address string, client *http.Client) (*Client, error) {
	shown := strconv.Quote(address)
	if strings.ContainsAny(address, "@?") {
		shown = "the address, whose name and password may have to be escaped,"
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s is no http:// or https:// URL", shown)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = Path
	}
	u.Fragment = ""
	c := &Client{url: u, http: &http.Client{}}
	if client != nil {
		*c.http = *client
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		c.owned, c.http.Transport = true, t.Clone()
	}
	if c.http.CheckRedirect == nil {
		c.http.CheckRedirect = checkRedirect
	}
	return c, nil
}

func (c *Client) close() {
	if c.owned {
		c.http.CloseIdleConnections()
	}
}

// URL returns the address that is posted to, without a password and without the query, which may hold a token.
func (c *Client) URL() string {
	u := *c.url
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.Redacted()
}

func checkRedirect(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	switch {
	case r.Method != http.MethodPost:
		return errors.New("the receiver redirects in a way that drops what is sent")
	case len(via) >= 5:
		return errors.New("too many redirects")
	case r.URL.Hostname() != first.Hostname() || r.URL.Scheme == "http" && first.Scheme == "https":
		return fmt.Errorf("the receiver redirects to %s://%s", r.URL.Scheme, r.URL.Host)
	case r.URL.Scheme == first.Scheme && r.URL.Host != first.Host:
		return fmt.Errorf("the receiver redirects to another port, %s", r.URL.Host)
	}
	return nil
}

// Message is what is posted: a message of protobuf, compressed.
type Message []byte

// Compress returns the message that f writes.
func Compress(f func(io.Writer) error) (Message, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if err := errors.Join(f(w), w.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Answer is what a receiver says that took a message, not all of it perhaps.
type Answer struct {
	// Rejected is how many profiles it did not take.
	Rejected int64
	// Text says why, or warns.
	Text string
}

// RefusedError is the error of a message that a receiver did not take.
type RefusedError struct {
	Status int
	Text   string
	// After is when to come again, as the receiver says; 0 where it does not.
	After time.Duration
}

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("the receiver answers %d %s", e.Status, http.StatusText(e.Status))
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}

// passes reports whether an error may be gone the next time.
func passes(err error) bool {
	passing := []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}
	refused, ok := errors.AsType[*RefusedError](err)
	return !ok || slices.Contains(passing, refused.Status) // or of the network
}

// Post posts a message, once.
func (c *Client) Post(ctx context.Context, m Message) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url.String(), bytes.NewReader(m))
	if err != nil {
		return Answer{}, withoutURL(err)
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("Content-Encoding", "gzip")
	r.Header.Set("OTLP-Profiles-Development-Version", "1")
	r.Header.Set("User-Agent", "optrace")
	response, err := c.http.Do(r)
	if err != nil {
		return Answer{}, withoutURL(err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if response.StatusCode/100 != 2 {
		return Answer{}, &RefusedError{
			Status: response.StatusCode, Text: refusal(response.Header.Get("Content-Type"), body),
			After: retryAfter(response.Header.Get("Retry-After"), time.Now()),
		}
	}
	if err != nil {
		return Answer{}, fmt.Errorf("reading the receiver's answer: %w", err)
	}
	return answer(response.Header.Get("Content-Type"), body), nil
}

// withoutURL returns an error of the HTTP client without the address, which may hold a
// password.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// maxRetryAfter bounds for how long a receiver may send its clients away.
const maxRetryAfter = time.Hour

// retryAfter returns the time in a header Retry-After, in seconds or a date; 0 for none.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 32); err == nil {
		return min(maxRetryAfter, time.Duration(seconds)*time.Second)
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return max(0, min(maxRetryAfter, at.Sub(now)))
}
