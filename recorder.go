package optrace

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/record/shapes"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// Recorder records a sequence of operations, such as the steps of a graph executor, in buffers of its own. Finish
// converts and emits them. Begin ends the operation before it with the same clock reading.
//
//	rec := tracer.Recorder(ctx)
//	rec.Begin("conv", "cuda:0").In(1, 3, 8, 8).Out(1, 16, 6, 6)
//	rec.Begin("relu", "cuda:0") // ends conv
//	rec.End()
//	rec.Begin("pool", "cuda:0").In(1, 16, 6, 6)
//	rec.Finish() // ends pool
//
// A Recorder of a [Tracer] makes spans below the span of its context. A Recorder of a [Processor] makes entries,
// without spans.
//
// In, Out, DType, Err and Attrs describe the last operation, before or after its end, and return the Recorder. They
// have no effect before the first operation. They do not allocate once the buffers have grown.
//
// A Recorder holds about 200 bytes per operation until Finish and can be used again afterwards. With 65,536 operations,
// 16 MiB of shapes or 262,144 further attributes, the next Begin emits the ended operations, as Finish does.
//
// One goroutine uses a Recorder at a time; concurrent use may panic. A nil or zero Recorder is a no-op.
type Recorder struct {
	emit    func(*Recorder) // makes spans or entries
	cache   *shapes.Cache   // of the Tracer or Processor
	mapping *attr.Mapping   // of the Exporter; nil is the conventions

	ctx  context.Context
	root span.Root // local root known to the Processor when it made the Recorder
	step op.Int    // of the next operations

	base time.Time // origin of clock readings
	ops  []recordedOp
	open bool // the last operation has not ended
	// Shapes and further attributes of all operations, in order.
	inputs, outputs shapes.Key
	attrs           []attribute.KeyValue

	scratch []attribute.KeyValue // attributes of one operation
}

// recordedOp is one operation of a Recorder.
type recordedOp struct {
	name, device string
	dtype        op.DType
	prepared     *Prepared // nil unless the operation was prepared
	failure      string    // text of the error

	start, end int64 // ns since the Recorder's base, or Unix ns
	launch     int64 // Unix ns; 0 if unknown
	step       int64

	// Offsets of the inputs, the output and the further attributes in the Recorder's buffers.
	inAt, outAt, attrsAt uint32

	inCount         uint16
	hasStep, failed bool
	unix            bool // start and end are Unix times
}

// Bounds of a Recorder's buffers.
const (
	maxRecordedOps   = 1 << 16
	maxRecordedShape = 16 << 20 // bytes
	maxRecordedAttrs = 1 << 18
)

func newRecorder(ctx context.Context, emit func(*Recorder), cache *shapes.Cache, mapping *attr.Mapping) *Recorder {
	ctx = orBackground(ctx)
	r := &Recorder{emit: emit, cache: cache, mapping: mapping, ctx: ctx, base: time.Now()}
	if step, ok := stepFromContext(ctx); ok {
		r.step = op.Known(step)
	}
	return r
}

// Step sets the iteration of a training or generation loop for the next operations. A new Recorder has the iteration of
// its context; see [ContextWithStep].
func (r *Recorder) Step(n int64) {
	if r != nil {
		r.step = op.Known(n)
	}
}

// Begin begins the operation name on device, which may be "", and ends the running operation.
func (r *Recorder) Begin(name, device string) *Recorder {
	if o := r.begin(); o != nil {
		o.name = name
		o.device = device
	}
	return r
}

// BeginPrepared is Begin for a prepared operation; see [Tracer.Prepare]. Other methods override the prepared
// attributes. A nil p begins an operation without a name.
func (r *Recorder) BeginPrepared(p *Prepared) *Recorder {
	if o := r.begin(); o != nil && p != nil {
		o.name = p.name
		o.prepared = p
	}
	return r
}

// Record adds an operation that has ended, on device, which may be "", and ends the running operation. The span above
// may have ended; see [Times].
func (r *Recorder) Record(name, device string, t Times) *Recorder {
	if o := r.record(&t); o != nil {
		o.name = name
		o.device = device
	}
	return r
}

// RecordPrepared is Record for a prepared operation.
func (r *Recorder) RecordPrepared(p *Prepared, t Times) *Recorder {
	if o := r.record(&t); o != nil && p != nil {
		o.name = p.name
		o.prepared = p
	}
	return r
}

// isOff reports whether r is nil or zero.
func (r *Recorder) isOff() bool { return r == nil || r.emit == nil }

// begin adds a running operation. It returns nil if r is off.
func (r *Recorder) begin() *recordedOp {
	if r.isOff() {
		return nil
	}
	now := r.now()
	if r.open {
		r.running().end = now
	}
	if r.isFull() {
		r.flush()
		now = r.now()
	}
	r.open = true
	o := r.add()
	o.start = now
	return o
}

// record adds an operation that has ended. It returns nil if r is off.
func (r *Recorder) record(t *Times) *recordedOp {
	if r.isOff() {
		return nil
	}
	t.check()
	r.End()
	if r.isFull() {
		r.flush()
	}
	o := r.add()
	o.start = t.Start
	o.end = t.End
	o.launch = t.Launch
	o.unix = true
	return o
}

// add adds an operation without a name and times.
func (r *Recorder) add() *recordedOp {
	ops := append(r.ops, recordedOp{
		step: r.step.V, hasStep: r.step.Known,
		inAt: uint32(len(r.inputs)), outAt: uint32(len(r.outputs)), attrsAt: uint32(len(r.attrs)),
	})
	r.ops = ops
	return &ops[len(ops)-1]
}

// now reads the monotonic clock.
func (r *Recorder) now() int64 { return int64(time.Since(r.base)) }

func (r *Recorder) isFull() bool {
	shapeBytes := len(r.inputs) + len(r.outputs)
	return len(r.ops) >= maxRecordedOps || shapeBytes >= maxRecordedShape || len(r.attrs) >= maxRecordedAttrs
}

// End ends the running operation, if any.
func (r *Recorder) End() {
	if r != nil && r.open {
		r.running().end = r.now()
		r.open = false
	}
}

// running returns the running operation. It panics if another goroutine has finished it.
func (r *Recorder) running() *recordedOp {
	ops := r.ops
	if len(ops) == 0 {
		panic(errShared)
	}
	return &ops[len(ops)-1]
}

// errShared is the panic of a Recorder with inconsistent fields.
const errShared = "optrace: a Recorder is used by several goroutines at once"

// last returns the last operation, or nil.
func (r *Recorder) last() *recordedOp {
	if r == nil {
		return nil
	}
	ops := r.ops
	if len(ops) == 0 {
		return nil
	}
	return &ops[len(ops)-1]
}

// In adds the shape of the next input. No dimensions mean a scalar; [op.Dynamic] is an unknown dimension.
func (r *Recorder) In(dims ...int64) *Recorder {
	// One input beyond the readers' limit tells them of the excess.
	if o := r.last(); o != nil && o.inCount <= op.MaxInputs {
		r.inputs = r.inputs.Append(dims)
		o.inCount++
	}
	return r
}

// Out sets the shape of the output, with dims as for In.
func (r *Recorder) Out(dims ...int64) *Recorder {
	if o := r.last(); o != nil {
		outputs := r.outputs
		if int(o.outAt) > len(outputs) {
			panic(errShared)
		}
		r.outputs = outputs[:o.outAt].Append(dims)
	}
	return r
}

// DType sets the element type of the output.
func (r *Recorder) DType(t op.DType) *Recorder {
	if o := r.last(); o != nil {
		o.dtype = t
	}
	return r
}

// Err marks the operation as failed. A nil err has no effect.
func (r *Recorder) Err(err error) *Recorder {
	if o := r.last(); o != nil && err != nil {
		o.failed = true
		o.failure = errorText(err)
	}
	return r
}

// Attrs adds attributes, such as tensorconv.StreamID or tensorconv.OpPath. The last attribute of a key wins, and
// attributes of Attrs win over the other methods.
func (r *Recorder) Attrs(attrs ...attribute.KeyValue) *Recorder {
	if r.last() != nil {
		r.attrs = append(r.attrs, attrs...)
	}
	return r
}

// Finish ends the running operation and emits all operations.
func (r *Recorder) Finish() {
	if r == nil {
		return
	}
	r.End()
	r.flush()
}

// flush emits the operations, which must have ended.
func (r *Recorder) flush() {
	defer r.empty() // even after a panic, to emit no operation twice
	if len(r.ops) > 0 {
		r.emit(r)
	}
}

// empty removes all operations and the references to the application's values.
func (r *Recorder) empty() {
	clear(r.ops)
	clear(r.attrs)
	r.ops = r.ops[:0]
	r.attrs = r.attrs[:0]
	r.inputs = r.inputs[:0]
	r.outputs = r.outputs[:0]
	r.base = time.Now()
}
