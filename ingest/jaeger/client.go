package jaeger

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/optrace/optrace/op/attr"
)

// The defaults of [ClientOptions].
const (
	// DefaultTimeout is the default timeout of a call.
	DefaultTimeout   = 30 * time.Second
	defaultMaxMemory = 1 << 30
)

// answersPerMemory is the number of largest answers, as text, per MaxMemory: the records of an answer take up to ten
// times its size.
const answersPerMemory = 16

// ErrTraceNotFound is the error for a trace unknown to Jaeger.
var ErrTraceNotFound = errors.New("trace not found")

// ClientOptions configures a [Client]. The zero value is ready to use.
type ClientOptions struct {
	// HTTPClient makes the calls; nil is http.DefaultClient. Its timeout, if any, bounds a single attempt.
	HTTPClient *http.Client
	// Timeout bounds a call: every attempt, the pauses between them, and the whole answer. Zero or less is
	// DefaultTimeout. A search makes several calls.
	Timeout time.Duration
	// MaxMemory is about the memory limit of an answer in bytes, as text and as records; zero or less is 1 GiB. An
	// answer above a sixteenth of it makes a search divide its time window. A search reports a window that it cannot
	// divide and leaves it out.
	MaxMemory int64
	// FollowRedirects allows redirects to any host. Otherwise the client follows redirects on the same host only, and
	// from http:// to https://. A CheckRedirect of HTTPClient takes precedence.
	FollowRedirects bool
	// Mapping maps attribute keys to fields; nil is the conventions.
	Mapping *attr.Mapping
}

// Client reads traces from a Jaeger query service. It uses the lossless version 3 of the API, or version 1 if the
// server has no other.
//
// It does not trust the server: it bounds the time of a call, the size of an answer, its memory and the number of calls
// of a search. It holds one answer at a time. A Client is not safe for concurrent use.
type Client struct {
	base    *url.URL
	opts    ClientOptions
	version version // 0 until the server has answered on one
}

// NewClient returns a Client for the service at base, such as "http://localhost:16686", with the service's path, if
// any. It sends no request.
func NewClient(base string, opts ClientOptions) (*Client, error) {
	u, err := parseAddress(base)
	if err != nil {
		return nil, fmt.Errorf("parsing the address of Jaeger: %w", err)
	}
	if opts.HTTPClient == nil {
		opts.HTTPClient = http.DefaultClient
	}
	if opts.HTTPClient.CheckRedirect == nil && !opts.FollowRedirects {
		client := *opts.HTTPClient
		client.CheckRedirect = checkRedirect
		opts.HTTPClient = &client
	}
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	if opts.MaxMemory <= 0 {
		opts.MaxMemory = defaultMaxMemory
	}
	return &Client{base: u, opts: opts}, nil
}

// parseAddress returns an address without query and fragment. The error shows no address with a possible password or
// token.
func parseAddress(base string) (*url.URL, error) {
	shown := strconv.Quote(base)
	secret := strings.ContainsAny(base, "@?")
	if secret {
		shown = "the address, whose name and password may have to be escaped,"
	}
	u, err := url.Parse(base)
	switch {
	case err != nil && !secret:
		return nil, err
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("%s is no http:// or https:// URL", shown)
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, User: u.User, Path: strings.TrimRight(u.Path, "/")}, nil
}

// Base returns the address of Jaeger's pages without user name and password.
func (c *Client) Base() string {
	u := *c.base
	u.User = nil
	return u.String()
}

// API returns the name of the API version in use, "" before the first answer.
func (c *Client) API() string {
	if c.version == 0 {
		return ""
	}
	return fmt.Sprintf("v%d", c.version)
}
