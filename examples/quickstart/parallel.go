package main

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/optrace/optrace"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

const (
	rowsPerDevice = 128
	learningRate  = 0.15
	weightsSeed   = 1
)

// Trainer trains one model on several devices. Each device has a replica, computes gradients on its part of the batch,
// and averages the gradients of all. The Trainer then answers requests.
type Trainer struct {
	// spans makes ordinary spans above the operations: steps, requests, phases.
	spans    trace.Tracer
	replicas []*replica
}

func newTrainer(provider trace.TracerProvider, devices int) (*Trainer, error) {
	t := &Trainer{spans: provider.Tracer("quickstart")}
	tracer := optrace.NewTracer(provider)
	ring := newRing(devices)
	for i := range devices {
		r := &replica{
			index: i, ring: ring, spans: t.spans,
			device: &Device{id: "cpu:" + strconv.Itoa(i), tracer: tracer},
			model:  NewMLP(weightsSeed, pixels, 256, 128, classes),
		}
		if err := r.prepare(devices); err != nil {
			return nil, err
		}
		t.replicas = append(t.replicas, r)
	}
	return t, nil
}

// Step trains with a batch and returns the mean loss before the update.
func (t *Trainer) Step(ctx context.Context, step int64, b batch) float64 {
	// The span is the local root of the step's operations. The context carries the step's number.
	ctx, span := t.spans.Start(optrace.ContextWithStep(ctx, step), "train.step")
	defer span.End()

	losses := make([]float64, len(t.replicas))
	var devices sync.WaitGroup
	for i, r := range t.replicas {
		devices.Go(func() {
			own := b.part(i, len(t.replicas))
			probs, loss := r.forward(ctx, own)
			r.backward(ctx, probs, own.labels)
			r.updateParameters(ctx)
			losses[i] = loss
		})
	}
	devices.Wait()
	return floats.Sum(losses) / float64(len(losses))
}

// Predict answers a request on one device: it returns the most probable class of each image.
func (t *Trainer) Predict(ctx context.Context, request int, images *mat.Dense) []int {
	// In a service an HTTP middleware makes this span. optrace and Jaeger find its operations below it.
	ctx, span := t.spans.Start(ctx, "POST /v1/predict", trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(semconv.HTTPRequestMethodPost, semconv.HTTPRoute("/v1/predict")))
	defer span.End()

	r := t.replicas[request%len(t.replicas)]
	probs := r.model.Forward(ctx, r.device, r.device.Copy(ctx, toDevice, "input", images))
	r.device.Softmax(ctx, "output", probs)
	probs = r.device.Copy(ctx, toHost, "output", probs)
	predicted := make([]int, probs.RawMatrix().Rows)
	for i := range predicted {
		predicted[i] = floats.MaxIdx(probs.RawRowView(i))
	}
	return predicted
}

// replica is a device with its copy of the model.
type replica struct {
	index  int
	device *Device
	model  MLP
	ring   ring
	spans  trace.Tracer

	// Prepared operations cost as much as their spans.
	reduce, update []*optrace.Prepared // by layer
	sequence       int64               // of the next all-reduce
}

func (r *replica) prepare(devices int) error {
	var failed error
	prepare := func(spec optrace.OpSpec) *optrace.Prepared {
		p, err := r.device.tracer.Prepare(spec)
		failed = errors.Join(failed, err)
		return p
	}
	for _, l := range r.model {
		shape := op.Shape{int64(len(l.params))}
		r.reduce = append(r.reduce, prepare(optrace.OpSpec{
			Name: "all_reduce", Device: r.device.id, Stream: op.Known(communicationStream), Path: l.path,
			Kind: op.KindCollective, Inputs: []op.Shape{shape}, Output: shape, DType: op.F64,
			Attrs: []attribute.KeyValue{
				tensorconv.CollectiveName("all_reduce"),
				tensorconv.CollectiveGroupName("data_parallel"), tensorconv.CollectiveGroupSize(int64(devices)),
			},
		}))
		r.update = append(r.update, prepare(optrace.OpSpec{
			Name: "sgd_update", Device: r.device.id, Stream: op.Known(computeStream), Path: l.path,
			Inputs: []op.Shape{shape, shape}, Output: shape, DType: op.F64, FLOPs: op.Known(2 * shape[0]),
		}))
	}
	return failed
}

func (r *replica) forward(ctx context.Context, b batch) (probs *mat.Dense, loss float64) {
	ctx, span := r.spans.Start(ctx, "forward")
	defer span.End()
	x := r.device.Copy(ctx, toDevice, "input", b.images)
	probs = r.model.Forward(ctx, r.device, x)
	r.device.Softmax(ctx, "loss", probs)
	return probs, r.device.CrossEntropy(ctx, "loss", probs, b.labels)
}

// backward computes the gradients. It all-reduces a layer's gradients while it computes the layers before.
func (r *replica) backward(ctx context.Context, probs *mat.Dense, labels []int) {
	ctx, span := r.spans.Start(ctx, "backward")
	defer span.End()
	ready := make(chan int, len(r.model))
	var communication sync.WaitGroup
	communication.Go(func() {
		for layer := range ready {
			r.allReduce(ctx, layer)
		}
	})
	r.device.CrossEntropyGrad(ctx, "loss", probs, labels)
	r.model.Backward(ctx, r.device, probs, func(layer int) { ready <- layer })
	close(ready)
	communication.Wait()
}

// allReduce adds up a layer's gradients over the devices. All devices call it for the same layers in the same order.
func (r *replica) allReduce(ctx context.Context, layer int) {
	_, o := r.reduce[layer].Start(ctx)
	r.ring.allReduce(r.index, r.model[layer].grads)
	// Group and sequence number identify the matching operations of the devices.
	o.Attrs(tensorconv.CollectiveSequence(r.sequence)).End()
	r.sequence++
}

// updateParameters takes a step down the mean gradient.
func (r *replica) updateParameters(ctx context.Context) {
	ctx, span := r.spans.Start(ctx, "update")
	defer span.End()
	for i, l := range r.model {
		_, o := r.update[i].Start(ctx)
		floats.AddScaled(l.params, -learningRate/float64(len(r.ring)), l.grads)
		o.End()
	}
}
