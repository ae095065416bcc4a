package optrace

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/optrace/optrace/internal/shapes"
	"github.com/optrace/optrace/tensorconv"
)

// Recorder returns a Recorder whose Finish makes a span of each operation,
// below the span of ctx.
func (t *Tracer) Recorder(ctx context.Context) *Recorder { return newRecorder(ctx, t.emit) }

// emit makes spans of what r recorded.
func (t *Tracer) emit(r *Recorder) {
	for i := range r.ops {
		o := &r.ops[i]
		_, span := t.tracer.Start(r.ctx, o.spanName(), trace.WithTimestamp(r.time(o.start)))
		if span.IsRecording() {
			span.SetAttributes(r.attributes(&t.shapes, o)...)
			if o.failure != nil {
				span.SetStatus(codes.Error, o.failure.Error())
			}
		}
		span.End(trace.WithTimestamp(r.time(o.end)))
	}
}

// emitScratch is what a Recorder uses again for one operation after the other.
type emitScratch struct {
	attrs []attribute.KeyValue
	view  spanView
}

// time returns the time of an offset.
func (r *Recorder) time(offset int64) time.Time { return r.base.Add(time.Duration(offset)) }

// attributes returns the attributes of an operation, valid until the next call.
func (r *Recorder) attributes(cache *shapes.Cache, o *recordedOp) []attribute.KeyValue {
	if o.prep != nil && o.dtype == "" && !r.step.Known {
		return o.prep.attrs
	}
	attrs := r.scratch.attrs[:0]
	if o.prep != nil {
		attrs = append(attrs, o.prep.attrs...)
	} else {
		attrs = append(attrs, tensorconv.OpName(o.name))
		if o.device != "" {
			attrs = append(attrs, tensorconv.DeviceID(o.device))
		}
		if o.hasIn {
			attrs = append(attrs, cache.Inputs(r.shapes[o.in:o.out]))
		}
		if o.hasOut {
			attrs = append(attrs, cache.Output(r.shapes[o.out:o.rest]))
		}
	}
	if o.dtype != "" {
		attrs = append(attrs, tensorconv.DType(o.dtype))
	}
	if r.step.Known {
		attrs = append(attrs, tensorconv.Step(r.step.V))
	}
	r.scratch.attrs = attrs
	return attrs
}
