package main

import (
	"encoding/json"
	"fmt"
	"net/http"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
)

const rankRoute = "/v1/rank"

type rankRequest struct {
	User  int   `json:"user"`
	Items []int `json:"items"`
}

// rankResponse holds the scores of the items. They add up to 1.
type rankResponse struct {
	Scores []float64 `json:"scores"`
}

const maxItems = 1000

type service struct {
	http.ServeMux
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	ranker     *ranker
}

func newService(sdk *optrace.SDK) (*service, error) {
	ranker, err := newRanker(sdk.Tracer())
	if err != nil {
		return nil, err
	}
	tracer := sdk.TracerProvider().Tracer("example.com/ranker")
	s := &service{tracer: tracer, propagator: propagation.TraceContext{}, ranker: ranker}
	s.HandleFunc("POST "+rankRoute, s.rank)
	return s, nil
}

// rank answers a request. Its span is the parent of the operations. A middleware such as otelhttp would make it.
func (s *service) rank(w http.ResponseWriter, r *http.Request) {
	ctx := s.propagator.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := s.tracer.Start(ctx, "POST "+rankRoute, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(semconv.HTTPRequestMethodPost, semconv.HTTPRoute(rankRoute)))
	defer span.End()

	var request rankRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := request.check(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	scores, err := s.ranker.rank(ctx, request.User, request.Items)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
		http.Error(w, "ranking failed", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// A client that left gets no answer.
	_ = json.NewEncoder(w).Encode(rankResponse{Scores: scores})
}

func (r *rankRequest) check() error {
	if len(r.Items) == 0 || len(r.Items) > maxItems {
		return fmt.Errorf("%d items, not 1 to %d", len(r.Items), maxItems)
	}
	for _, item := range r.Items {
		if item < 0 || item >= shards*shardItems {
			return fmt.Errorf("item %d is not below %d", item, shards*shardItems)
		}
	}
	return nil
}
