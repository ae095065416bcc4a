// Package jaeger reads traces from a running Jaeger, with a [Client], and from files.
//
// [Records] reads version 1 of Jaeger's API: answers of /api/traces, downloads of its page, and the traces in them
// alone. Answers of version 3 are OTLP, see package otlp.
//
// Version 1 is lossy. Lists and maps are text, times are microseconds, and links have no attributes. The reader
// recovers lists from their text, large integers from their strings, and parents and links from references. As in
// package otlp, a start of 0 is unknown and placeholder ids are no ids. Every entry has [op.WarnMicroseconds].
package jaeger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/optrace/optrace/ingest/otlp"
	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/op"
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

// Trace is one trace in Jaeger.
type Trace struct {
	ID op.TraceID
	// Entries are the operations, Spans the other spans.
	Entries []*op.Entry
	Spans   []op.Span
	// Pruned sums up operations that the program did not send one by one.
	Pruned []op.Pruned

	start op.Int // the earliest, in Unix nanoseconds
}

func (t *Trace) starts(start op.Int) {
	if start.Known && (!t.start.Known || start.V < t.start.V) {
		t.start = start
	}
}

// Trace returns the trace with the id and the errors of bad records. The error is [ErrTraceNotFound] if Jaeger has no
// such trace, a *[op.SyntaxError] if Jaeger fails to return this one, and any other if Jaeger cannot be reached.
func (c *Client) Trace(ctx context.Context, id op.TraceID) (*Trace, []*op.SyntaxError, error) {
	ans, err := c.call(ctx, request{
		below: "/" + id.String(),
		// Jaeger moves and extends adjusted spans.
		query: map[version]url.Values{v3: {"raw_traces": {"true"}}, v1: {"raw": {"true"}}},
	})
	failed, ok := errors.AsType[*answerError](err)
	switch {
	case ok && failed.isNotFound():
		return nil, nil, fmt.Errorf("%w: %s", ErrTraceNotFound, id)
	case ok && failed.isNotFinite():
		return nil, nil, &op.SyntaxError{File: failed.url, Offset: -1, Class: op.ErrorRecord,
			Msg: "trace with a number that is not finite: Jaeger cannot return it"}
	case errors.Is(err, errTooLarge):
		return nil, nil, &op.SyntaxError{File: c.Base(), Offset: -1, Class: op.ErrorLimit, Msg: "trace left out, " +
			err.Error()}
	case err != nil:
		return nil, nil, err
	}
	if t := ans.byID[id]; t != nil {
		return t, ans.problems, nil
	}
	return nil, nil, fmt.Errorf("%w: %s", ErrTraceNotFound, id)
}

var errCutOff = errors.New("the answer was cut off")

// answer is an answer of the server, by trace in order of first appearance.
type answer struct {
	url      string
	traces   []*Trace
	byID     map[op.TraceID]*Trace
	problems []*op.SyntaxError // of bad records, the first ones
	untold   int               // the number of further problems
}

const maxProblems = 100

// decode reads an answer and collects the records of each trace. In version 3 they may be scattered.
func (c *Client) decode(v version, url string, body []byte) (*answer, error) {
	ans := &answer{url: url, byID: make(map[op.TraceID]*Trace)}
	for rec, err := range c.records(v, url, body, c.opts.Mapping) {
		syntax, ok := errors.AsType[*op.SyntaxError](err)
		switch {
		case ok && syntax.Truncated:
			return nil, errCutOff
		case ok:
			ans.problem(syntax)
		case errors.Is(err, errTraceTooLarge):
			return nil, fmt.Errorf("%w: %w", errTooLarge, err)
		case err != nil:
			return nil, err
		case rec.Entry != nil:
			if t := ans.trace(rec.Entry.TraceID); t != nil {
				t.Entries = append(t.Entries, rec.Entry.Clone())
				t.starts(rec.Entry.Start)
			}
		case rec.Span != nil:
			if t := ans.trace(rec.Span.TraceID); t != nil {
				t.Spans = append(t.Spans, *rec.Span.Clone())
				t.starts(rec.Span.Start)
			}
		}
	}
	// Readers skip events unless the mapping keeps all attributes. An answer with summaries, which are events, is read
	// once more. The first pass reported its errors.
	if bytes.Contains(body, []byte(attrkey.PrunedEvent)) {
		m := new(attr.Mapping)
		m.KeepAll()
		for rec, err := range c.records(v, url, body, m) {
			if err == nil {
				ans.addPruned(rec)
			}
		}
	}
	if ans.untold > 0 {
		ans.problems = append(ans.problems, &op.SyntaxError{File: url, Offset: -1, Class: op.ErrorOther,
			Msg: fmt.Sprintf("%d further problems of this answer", ans.untold)})
	}
	return ans, nil
}

// records reads the spans of an answer. It may change white space in body.
func (c *Client) records(v version, url string, body []byte, m *attr.Mapping) iter.Seq2[op.Record, error] {
	if v == v1 {
		return RecordsHolding(bytes.NewReader(body), url, m, upTo(c.opts.MaxMemory/2, nil))
	}
	// An answer is one document. The reader would take its lines for documents.
	for i := range body {
		if body[i] == '\n' {
			body[i] = ' '
		}
	}
	return otlp.JSONRecords(bytes.NewReader(body), url, m)
}

// trace returns the trace with an id. For a zero id it reports a problem and returns nil.
func (a *answer) trace(id op.TraceID) *Trace {
	if id.IsZero() {
		a.problem(&op.SyntaxError{File: a.url, Offset: -1, Class: op.ErrorRecord,
			Msg: "span without the id of its trace"})
		return nil
	}
	t := a.byID[id]
	if t == nil {
		t = &Trace{ID: id}
		a.byID[id] = t
		a.traces = append(a.traces, t)
	}
	return t
}

func (a *answer) problem(p *op.SyntaxError) {
	if len(a.problems) < maxProblems {
		a.problems = append(a.problems, p)
	} else {
		a.untold++
	}
}

func (a *answer) addPruned(rec op.Record) {
	var extra *op.Extra
	var p op.Pruned
	if e, s := rec.Entry, rec.Span; e != nil {
		extra = e.Extra
		p.TraceID = e.TraceID
		p.SpanID = e.SpanID
	} else if s != nil {
		extra = s.Extra
		p.TraceID = s.TraceID
		p.SpanID = s.SpanID
	}
	t := a.byID[p.TraceID]
	if extra == nil || t == nil {
		return
	}
	for i := range extra.Events {
		if extra.Events[i].Name != attrkey.PrunedEvent {
			continue
		}
		p.Operation, p.DeviceID, p.Count, p.Duration = "", "", 0, 0
		for _, attr := range extra.Events[i].Attrs {
			amount, _ := strconv.ParseInt(attr.Value, 10, 64)
			switch attr.Key {
			case attrkey.Name:
				p.Operation = attr.Value
			case attrkey.Device:
				p.DeviceID = attr.Value
			case attrkey.PrunedCount:
				p.Count = amount
			case attrkey.PrunedDuration:
				p.Duration = max(0, amount)
			}
		}
		if p.Operation != "" && p.Count > 0 {
			t.Pruned = append(t.Pruned, p)
		}
	}
}
