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
	// DefaultTimeout is how long a call may take.
	DefaultTimeout = 30 * time.Second
	// defaultMaxMemory is what an answer may take in memory.
	defaultMaxMemory = 1 << 30
)

// answersPerMemory is how many of the largest answers, as texts, fit into the memory: the records of an answer take up
// to ten times as much.
const answersPerMemory = 16

// ErrTraceNotFound is returned for a trace that Jaeger does not hold.
var ErrTraceNotFound = errors.New("trace not found")

// ClientOptions configures a [Client]. The zero value is ready to use.
type ClientOptions struct {
	// HTTPClient makes the calls; nil is http.DefaultClient. Its own timeout, if it has one, bounds a single attempt.
	HTTPClient *http.Client
	// Timeout is how long a call may take in all: every attempt, the pauses between them, and the answer to its last
	// byte. Zero or less is DefaultTimeout. A search makes several calls.
	Timeout time.Duration
	// MaxMemory is about how much memory an answer may take, as text and as records; zero or less is a gibibyte. A
	// search whose answer is larger than a sixteenth of it is divided, and a window that cannot be divided is reported
	// and left out.
	MaxMemory int64
	// FollowRedirects lets the server send the client to any other host. Otherwise a redirect is followed on the same
	// host only, and to https:// from http://. An HTTPClient with a CheckRedirect of its own decides by that.
	FollowRedirects bool
	// Mapping is the table from attribute keys to fields; nil is the conventions.
	Mapping *attr.Mapping
}

// Client asks a Jaeger query service for traces: with API version 3, which is lossless, and with version 1 where the
// server has no other.
//
// It trusts nothing that a server answers: the time of a call, the size of an answer, the memory that it takes and the
// number of calls of a search are bounded. It holds one answer at a time. A Client is not safe for concurrent use.
type Client struct {
	base    *url.URL
	opts    ClientOptions
	version version // 0 until the server has answered on one
}

// NewClient returns a Client of the service at base, such as "http://localhost:16686", with the path under which it is
// served, if any. Nothing is sent yet.
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

// parseAddress returns an address without a query and a fragment. An error does not show an address that may hold a
// password or a token.
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

// Base returns the address of Jaeger's pages, without a user's name and password.
func (c *Client) Base() string {
	u := *c.base
	u.User = nil
	return u.String()
}

// API returns the name of the API version that the server answered on, "" when it has not answered yet.
func (c *Client) API() string {
	if c.version == 0 {
		return ""
	}
	return fmt.Sprintf("v%d", c.version)
}
