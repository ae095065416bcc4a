// Package completions is shared by the examples that generate text: the HTTP service, with a span for each request, and
// its clients.
package completions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/analyze/correlate"
	"github.com/optrace/optrace/examples/internal/demo"
	"github.com/optrace/optrace/ingest"
	"github.com/optrace/optrace/render/text"
)

// PrintRequests prints the output of "optrace correlate FILE": whose prompt stalls whom, and the slowest requests.
func PrintRequests(out io.Writer, file string) error {
	join := correlate.NewJoin()
	for rec, err := range ingest.Open(file).Records() {
		if err != nil {
			return err
		}
		join.AddLocal(rec)
	}
	return text.WriteCorrelation(out, join.Report(correlate.Options{Findings: true}), text.Options{
		FirstScreen: true, Show: func(string) bool { return false },
	})
}

// Route is the path of requests.
const Route = "/v1/completions"

// Request is a prompt and the number of tokens to generate after it.
type Request struct {
	Prompt    string `json:"prompt"`
	MaxTokens int    `json:"max_tokens"`
}

// Response holds the text.
type Response struct {
	Text string `json:"text"`
}

// Service answers requests with a Batcher. It can send requests to itself.
type Service struct {
	Engine *Batcher
	Tracer trace.Tracer
	// MaxPrompt and MaxTokens bound a request.
	MaxPrompt, MaxTokens int
	// Clients is the number of its own concurrent requests. Request makes the i-th one.
	Clients int
	Request func(r *rand.Rand, i int) Request
}

// ServeHTTP answers a request. A middleware such as otelhttp would make its span.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, span := s.Tracer.Start(r.Context(), "POST "+Route, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(semconv.HTTPRequestMethodPost, semconv.HTTPRoute(Route)))
	defer span.End()

	var request Request
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&request)
	inBounds := len(request.Prompt) <= s.MaxPrompt && request.MaxTokens >= 1 && request.MaxTokens <= s.MaxTokens
	if err != nil || request.Prompt == "" || !inBounds {
		http.Error(w, "want a prompt and a number of tokens within bounds", http.StatusBadRequest)
		return
	}
	answer, err := s.Engine.Generate(ctx, request.Prompt, request.MaxTokens)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// A client that left gets no answer.
	_ = json.NewEncoder(w).Encode(Response{Text: answer})
}

// Run runs the engine and serves at addr until ctx is done, or until its own requests, if any, are answered.
func (s *Service) Run(ctx context.Context, addr string, requests int, out io.Writer) error {
	working, stop := context.WithCancel(ctx)
	worked := make(chan error, 1)
	go func() { worked <- s.Engine.Run(working) }()
	client := func(ctx context.Context, address string) error {
		if requests > 0 {
			return s.sendAll(ctx, address+Route, requests)
		}
		const body = `{"prompt":"once upon a time","max_tokens":20}`
		fmt.Fprintf(out, "serving on %s; try curl -d '%s' %[1]s%s\n", address, body, Route)
		<-ctx.Done()
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("POST "+Route, s)
	err := demo.Serve(ctx, addr, mux, client)
	stop()
	return errors.Join(err, <-worked)
}

func (s *Service) sendAll(ctx context.Context, url string, n int) error {
	errs := make([]error, s.Clients)
	var sending sync.WaitGroup
	for client := range s.Clients {
		sending.Go(func() {
			r := rand.New(rand.NewPCG(6, uint64(client)))
			for i := client; i < n && errs[client] == nil; i += s.Clients {
				if err := send(ctx, url, s.Request(r, i)); err != nil {
					errs[client] = fmt.Errorf("request %d: %w", i, err)
				}
			}
		})
	}
	sending.Wait()
	return errors.Join(errs...)
}

func send(ctx context.Context, url string, request Request) error {
	var answer Response
	if err := demo.Post(ctx, url, request, &answer); err != nil {
		return err
	}
	if len(answer.Text) != request.MaxTokens {
		return fmt.Errorf("%d tokens, want %d", len(answer.Text), request.MaxTokens)
	}
	return nil
}
