package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/cmd/optrace/internal/exit"
	"github.com/optrace/optrace/cmd/optrace/internal/flags"
	"github.com/optrace/optrace/cmd/optrace/internal/streams"
	"github.com/optrace/optrace/ingest/jaeger"
	"github.com/optrace/optrace/internal/text/units"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/render/otlp"
)

// takeOTLP accepts the receiver's address right behind -annotate, in front of the inputs.
func (f *correlateFlags) takeOTLP(line *flags.Line) {
	isURL := func(input string) bool {
		return strings.HasPrefix(input, "http://") || strings.HasPrefix(input, "https://")
	}
	if f.annotate && f.otlp == "" && len(line.Inputs) > 0 && isURL(line.Inputs[0]) {
		f.otlp = line.Inputs[0]
		line.Inputs = slices.Clone(line.Inputs[1:])
	}
}

// checkOTLP completes the address of the receiver.
func (f *correlateFlags) checkOTLP() error {
	if !f.annotate {
		if f.otlp != "" {
			return exit.Usagef("-otlp goes with -annotate")
		}
		return nil
	}
	if f.otlp == "" {
		f.otlp = "http://localhost:4318"
		if u, err := url.Parse(f.jaeger); err == nil && u.Hostname() != "" {
			f.otlp = "http://" + net.JoinHostPort(u.Hostname(), "4318")
		}
	}
	if u, err := url.Parse(f.otlp); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return exit.Usagef("-otlp: the address is no http:// or https:// URL")
	}
	return nil
}

// annotateRequests sends an annotation for each request without one. It sends the first alone: a backend that does not
// show it within shownWithin does not keep spans that arrive after their trace.
func (f *correlateFlags) annotateRequests(ctx context.Context, s streams.Streams, r *correlate.Report) error {
	spans := r.Annotations(f.reportURL)
	for i, batch := range [][]op.Span{spans[:min(len(spans), 1)], spans[min(len(spans), 1):]} {
		if err := f.sendSpans(ctx, batch); err != nil {
			return exit.Output(fmt.Errorf("annotating requests: %w; -otlp URL states the address of the receiver", err))
		}
		if i == 0 && len(batch) > 0 && f.jaeger != "" {
			if err := f.awaitSpan(ctx, &batch[0]); err != nil {
				return exit.Output(fmt.Errorf("annotating requests: %w", err))
			}
		}
	}
	text := units.Plural(int64(len(spans)), "annotation") + " sent"
	if n := len(r.Requests) - len(spans); n > 0 {
		text += "; " + units.Plural(int64(n), "request") + " had one, or have no time"
	}
	_, err := fmt.Fprintln(s.Err, "optrace correlate: "+text)
	return err
}

// sendSpans sends spans in batches.
func (f *correlateFlags) sendSpans(ctx context.Context, spans []op.Span) error {
	var document bytes.Buffer
	w := otlp.NewWriter(&document)
	for i := range spans {
		if err := w.Span(&spans[i]); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for line := range bytes.Lines(document.Bytes()) {
		if err := f.post(ctx, line); err != nil {
			return err
		}
	}
	return nil
}

// post sends one request to the receiver. It returns an error if the receiver rejects spans.
func (f *correlateFlags) post(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	to := strings.TrimRight(f.otlp, "/") + "/v1/traces"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it is read
	const most = 1 << 16
	answer, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil || resp.StatusCode/100 != 2 {
		return errors.Join(err, fmt.Errorf("the receiver answered %s", resp.Status))
	}
	var partial struct {
		PartialSuccess struct {
			RejectedSpans json.Number `json:"rejectedSpans"`
			ErrorMessage  string      `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &partial) == nil {
		if n := partial.PartialSuccess.RejectedSpans.String(); n != "" && n != "0" {
			return fmt.Errorf("the receiver rejected %s spans: %s", n, partial.PartialSuccess.ErrorMessage)
		}
	}
	return nil
}

// shownWithin is the longest time from the end of a request to the receiver until the backend shows its spans.
var shownWithin = 10 * time.Second

// awaitSpan waits until the backend shows a span.
func (f *correlateFlags) awaitSpan(ctx context.Context, span *op.Span) error {
	client, err := jaeger.NewClient(f.jaeger, jaeger.ClientOptions{
		Timeout: f.timeout, FollowRedirects: f.redirects, MaxMemory: int64(f.Memory),
	})
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(shownWithin); ; {
		t, _, err := client.Trace(ctx, span.TraceID)
		if err != nil && !errors.Is(err, jaeger.ErrTraceNotFound) {
			return err
		}
		if t != nil && slices.ContainsFunc(t.Spans, func(s op.Span) bool { return s.SpanID == span.SpanID }) {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.New("the backend took the first annotation and does not show it: it keeps no spans that arrive " +
				"after their trace")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(shownWithin / 50):
		}
	}
}
