package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"

	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/examples/internal/demo"
)

const (
	rankRoute = "/v1/rank"
	maxItems  = 1000
)

type rankRequest struct {
	Items []int `json:"items"`
}

type rankResponse struct {
	Scores []float64 `json:"scores"`
}

type service struct {
	tracer trace.Tracer
	ranker *ranker
}

func newService(sdk *optrace.SDK) http.Handler {
	s := &service{tracer: sdk.TracerProvider().Tracer("example.com/ranker"), ranker: newRanker(sdk.Tracer())}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+rankRoute, s.rank)
	return mux
}

// rank answers a request. Its span is the parent of the operations. A middleware such as otelhttp would make it.
func (s *service) rank(w http.ResponseWriter, r *http.Request) {
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := s.tracer.Start(ctx, "POST "+rankRoute, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(semconv.HTTPRequestMethodPost, semconv.HTTPRoute(rankRoute)))
	defer span.End()

	var request rankRequest
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&request)
	if n := len(request.Items); err == nil && (n == 0 || n > maxItems || slices.Min(request.Items) < 0 ||
		slices.Max(request.Items) >= shards*shardItems) {
		err = fmt.Errorf("there must be 1 to %d items, each below %d", maxItems, shards*shardItems)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(rankResponse{Scores: s.ranker.rank(ctx, request.Items)}) // the client may have left
}

// sendRequests sends n requests to the service at address, one by one. Each asks for items of one shard, mostly the
// first.
func sendRequests(ctx context.Context, address string, n int) error {
	r := rand.New(rand.NewPCG(6, 7))
	for i := range n {
		first := 0
		if i%8 == 7 {
			first = r.IntN(shards) * shardItems
		}
		request := rankRequest{Items: make([]int, 50+r.IntN(50))}
		for j := range request.Items {
			request.Items[j] = first + r.IntN(shardItems)
		}
		var answer rankResponse
		if err := demo.Post(ctx, address+rankRoute, request, &answer); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		if len(answer.Scores) != len(request.Items) {
			return fmt.Errorf("request %d: %d scores for %d items", i, len(answer.Scores), len(request.Items))
		}
	}
	return nil
}
