package main

import (
	"context"

	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Server answers requests with a trained model, on one device after the other.
type Server struct {
	spans    trace.Tracer
	replicas []*replica
	next     int
}

func newServer(provider trace.TracerProvider, t *Trainer) *Server {
	return &Server{spans: provider.Tracer("quickstart"), replicas: t.replicas}
}

// Predict returns the most probable class of each image.
func (s *Server) Predict(ctx context.Context, images *mat.Dense) []int {
	// In a service this span comes from the HTTP middleware. Operations started
	// below it are found under the request, here and in Jaeger.
	ctx, span := s.spans.Start(ctx, "POST /v1/predict", trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(semconv.HTTPRequestMethodPost, semconv.HTTPRoute("/v1/predict")))
	defer span.End()

	r := s.replicas[s.next]
	s.next = (s.next + 1) % len(s.replicas)
	probs := r.model.Forward(ctx, r.device, r.device.CopyIn(ctx, "input", images))
	r.device.Softmax(ctx, "output", probs)
	probs = r.device.CopyOut(ctx, "output", probs)

	predicted := make([]int, images.RawMatrix().Rows)
	for i := range predicted {
		predicted[i] = floats.MaxIdx(probs.RawRowView(i))
	}
	return predicted
}
