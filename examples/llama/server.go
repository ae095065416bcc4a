package main

import (
	"encoding/json"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

const completionsRoute = "/v1/completions"

// completionsRequest asks for a text that goes on where the prompt ends.
type completionsRequest struct {
	Prompt    string `json:"prompt"`
	MaxTokens int    `json:"max_tokens"`
}

// completionsResponse has the text.
type completionsResponse struct {
	Text string `json:"text"`
}

// The bounds of a request, in tokens: what all sequences together need fits the context.
const (
	maxPrompt = 768
	maxTokens = 256
)

// service answers HTTP requests.
type service struct {
	http.ServeMux
	tracer trace.Tracer
	engine *engine
}

func newService(provider trace.TracerProvider, e *engine) *service {
	s := &service{tracer: provider.Tracer("example.com/llama"), engine: e}
	s.HandleFunc("POST "+completionsRoute, s.complete)
	return s
}

// complete answers a request. With otelhttp or another middleware its span would come from there.
func (s *service) complete(w http.ResponseWriter, r *http.Request) {
	ctx, span := s.tracer.Start(r.Context(), "POST "+completionsRoute, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(semconv.HTTPRequestMethodPost, semconv.HTTPRoute(completionsRoute)))
	defer span.End()

	var request completionsRequest
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&request)
	if err != nil || request.Prompt == "" || len(request.Prompt) > maxPrompt || request.MaxTokens < 1 || request.MaxTokens > maxTokens {
		http.Error(w, "want a prompt and a number of tokens within bounds", http.StatusBadRequest)
		return
	}
	span.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", len(request.Prompt)),
		attribute.Int("gen_ai.usage.output_tokens", request.MaxTokens))
	answer, err := s.engine.generate(ctx, request.Prompt, request.MaxTokens)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// A client that went away gets no answer; there is nobody to tell.
	_ = json.NewEncoder(w).Encode(completionsResponse{Text: answer})
}
