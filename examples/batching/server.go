package main

import (
	"encoding/json"
	"net/http"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

const generateRoute = "/v1/generate"

// generateRequest asks for a text that goes on where the prompt ends.
type generateRequest struct {
	Prompt string `json:"prompt"`
	Tokens int    `json:"tokens"`
}

// generateResponse has the text.
type generateResponse struct {
	Text string `json:"text"`
}

// The bounds of a request.
const (
	maxPrompt = 4096
	maxTokens = 1024
)

// service answers HTTP requests.
type service struct {
	http.ServeMux
	tracer trace.Tracer
	engine *engine
}

func newService(provider trace.TracerProvider, e *engine) *service {
	s := &service{tracer: provider.Tracer("example.com/generator"), engine: e}
	s.HandleFunc("POST "+generateRoute, s.generate)
	return s
}

// generate answers a request. With otelhttp or another middleware its span would come
// from there.
func (s *service) generate(w http.ResponseWriter, r *http.Request) {
	ctx, span := s.tracer.Start(r.Context(), "POST "+generateRoute, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(semconv.HTTPRequestMethodPost, semconv.HTTPRoute(generateRoute)))
	defer span.End()

	var request generateRequest
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&request)
	if err != nil || request.Prompt == "" || len(request.Prompt) > maxPrompt || request.Tokens < 1 || request.Tokens > maxTokens {
		http.Error(w, "want a prompt and a number of tokens within bounds", http.StatusBadRequest)
		return
	}
	answer, err := s.engine.generate(ctx, request.Prompt, request.Tokens)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// A client that went away gets no answer; there is nobody to tell.
	_ = json.NewEncoder(w).Encode(generateResponse{Text: answer})
}
