package jaeger

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/optrace/optrace/op"
)

// DefaultTimeout is how long a [Client] waits for an answer by default.
const DefaultTimeout = 10 * time.Second

// DefaultMaxAnswerBytes is the largest answer that a [Client] takes by default.
const DefaultMaxAnswerBytes = 256 << 20

// ErrTraceNotFound is returned for a trace that Jaeger does not hold.
var ErrTraceNotFound = errors.New("trace not found")

// ClientOptions configures a [Client]. The zero value is ready to use.
type ClientOptions struct {
	// HTTPClient makes the calls; nil is http.DefaultClient. Its own timeout, if
	// it has one, bounds a single attempt.
	HTTPClient *http.Client
	// Timeout is how long a call may go without receiving anything, attempts
	// after the first included; zero or less is DefaultTimeout.
	Timeout time.Duration
	// MaxAnswerBytes is the largest answer that is taken, after decompression;
	// zero or less is DefaultMaxAnswerBytes. A search whose answer would be larger
	// is divided, and a window that cannot be divided is reported and left out.
	MaxAnswerBytes int64
	// Mapping is the table from attribute keys to fields; nil is the
	// conventions.
	Mapping *op.Mapping
}

// Client asks a Jaeger query service for traces: with API version 3, which is
// lossless, and with version 1 where the server has no other.
//
// It holds one answer at a time in memory, as text and as records; the option
// MaxAnswerBytes bounds the text. A Client is not safe for concurrent use.
type Client struct {
	base *url.URL
	opts ClientOptions
	api  api // nil until the server has answered on one
}

// NewClient returns a Client of the service at base, such as
// "http://localhost:16686", with the path under which it is served, if any.
// Nothing is sent yet.
func NewClient(base string, opts ClientOptions) (*Client, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, fmt.Errorf("parsing the address of Jaeger: %w", errors.Unwrap(err)) // without a password that it may hold
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("parsing the address of Jaeger: %q is no http:// or https:// URL", u.Redacted())
	}
	u = &url.URL{Scheme: u.Scheme, Host: u.Host, User: u.User, Path: strings.TrimRight(u.Path, "/")}
	if opts.HTTPClient == nil {
		opts.HTTPClient = http.DefaultClient
	}
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	if opts.MaxAnswerBytes <= 0 {
		opts.MaxAnswerBytes = DefaultMaxAnswerBytes
	}
	return &Client{base: u, opts: opts}, nil
}

// Base returns the address of Jaeger's pages, without a user's name and
// password.
func (c *Client) Base() string {
	u := *c.base
	u.User = nil
	return u.String()
}

// API returns the name of the API version that the server answered on, "" when
// it has not answered yet.
func (c *Client) API() string {
	if c.api == nil {
		return ""
	}
	return c.api.name()
}

// url returns the address of a path below the base.
func (c *Client) url(path string, query url.Values) *url.URL {
	u := *c.base
	u.Path += path
	u.RawQuery = query.Encode()
	return &u
}
