package optrace

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/record/shapes"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
	"github.com/optrace/optrace/tensorconv"
)

// Recorder records operations that follow one another, such as the steps of a graph executor, at
// almost no cost: it notes names, times and shapes in buffers of its own, and all else happens in
// Finish. Beginning an operation ends the one before with the same reading of the clock.
//
//	rec := tracer.Recorder(ctx)
//	rec.Begin("conv", "cuda:0").In(1, 3, 8, 8).Out(1, 16, 6, 6)
//	rec.Begin("relu", "cuda:0") // ends conv
//	rec.End()
//	rec.Begin("pool", "cuda:0").In(1, 16, 6, 6)
//	rec.Finish() // ends pool
//
// A Recorder from a [Tracer] makes spans of the operations below the span of the context; one from
// a [Processor] hands them to it as entries, without spans. Record takes operations that have
// ended, with their times, such as those of a device; see [Times].
//
// In, Out, DType, Device, Stream, Kind, Path, FLOPs, Err and Attrs describe the operation begun or
// recorded last, whether or not it has ended; without one they do nothing. They return the Recorder
// for chaining and do not allocate once its buffers have grown.
//
// The operations stay in the Recorder until Finish, about 200 bytes each; after that it may be used
// again. When it holds 65,536 operations, 16 MiB of shapes or 262,144 further attributes, the next
// Begin emits those that have ended, as Finish does.
//
// A Recorder is used by one goroutine at a time, and may panic otherwise. A nil or zero Recorder does nothing.
type Recorder struct {
	// emit makes spans or entries of the operations.
	emit    func(*Recorder)
	cache   *shapes.Cache // of the Tracer or Processor
	mapping *attr.Mapping // of the Exporter; nil is the conventions

	ctx  context.Context
	root span.Root // above the operations as the Recorder was made, if a Processor knew it
	step op.Int    // of the operations that are begun

	base time.Time // offsets count from here
	ops  []recordedOp
	open bool // the last operation has not ended
	// Shapes and further attributes of all operations, one after the other.
	inputs, outputs shapes.Key
	attrs           []attribute.KeyValue

	scratch []attribute.KeyValue // of one operation; see attributes
}

// recordedOp is one operation of a Recorder.
type recordedOp struct {
	name     string
	device   string
	dtype    op.DType
	prepared *Prepared // nil unless the operation was prepared
	failure  string    // the error's text

	start, end int64 // ns since the recorder's base, or in Unix time
	launch     int64 // Unix ns; 0 where it is not known
	step       int64

	// Where the inputs, the output and the further attributes begin in the Recorder's buffers.
	inAt, outAt, attrsAt uint32

	inCount uint16
	hasStep bool
	failed  bool
	unix    bool // start and end are in Unix time
}

// The bounds of a Recorder's buffers.
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

// Step sets the iteration of a training or generation loop that the operations begun from now on
// belong to. A new Recorder has that of its context; see [ContextWithStep].
func (r *Recorder) Step(n int64) {
	if r != nil {
		r.step = op.Known(n)
	}
}

// Begin begins the operation name on device, which may be "", and ends the one under way.
func (r *Recorder) Begin(name, device string) *Recorder {
	if o := r.begin(); o != nil {
		o.name, o.device = name, device
	}
	return r
}

// BeginPrepared begins an operation that repeats; see [Tracer.Prepare]. What the other methods say of
// the operation replaces what was prepared. A nil p begins an operation without a name.
func (r *Recorder) BeginPrepared(p *Prepared) *Recorder {
	if o := r.begin(); o != nil && p != nil {
		o.name, o.prepared = p.name, p
	}
	return r
}

// isOff reports whether r records nothing.
func (r *Recorder) isOff() bool { return r == nil || r.emit == nil }

// begin begins an operation, unless r is off: then it returns nil.
func (r *Recorder) begin() *recordedOp {
	if r.isOff() {
		return nil
	}
	now := r.now()
	if r.open {
		r.underWay().end = now
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
	return len(r.ops) >= maxRecordedOps || len(r.inputs)+len(r.outputs) >= maxRecordedShape || len(r.attrs) >= maxRecordedAttrs
}

// End ends the operation under way. Without one it does nothing.
func (r *Recorder) End() {
	if r != nil && r.open {
		r.underWay().end = r.now()
		r.open = false
	}
}

// underWay returns the operation that has not ended. There is none where another goroutine has finished it.
func (r *Recorder) underWay() *recordedOp {
	ops := r.ops
	if len(ops) == 0 {
		panic(errShared)
	}
	return &ops[len(ops)-1]
}

// errShared is the panic of a Recorder whose fields contradict one another.
const errShared = "optrace: a Recorder is used by several goroutines at once"

// last returns the operation that was begun last, or nil.
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

// In is [Op.In].
func (r *Recorder) In(dims ...int64) *Recorder {
	// One more than readers take, so that they see that there were more.
	if o := r.last(); o != nil && o.inCount <= op.MaxInputs {
		r.inputs = r.inputs.Append(dims)
		o.inCount++
	}
	return r
}

// Out is [Op.Out].
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

// Device sets the device, such as "cuda:0", in place of the one at the start.
func (r *Recorder) Device(id string) *Recorder {
	if o := r.last(); o != nil {
		o.device = id
	}
	return r
}

// Stream sets the queue of the device.
func (r *Recorder) Stream(id int64) *Recorder { return r.Attrs(tensorconv.StreamID(id)) }

// Kind sets the kind of the operation, which is inferred from the name otherwise.
func (r *Recorder) Kind(k op.Kind) *Recorder { return r.Attrs(tensorconv.OpKind(k)) }

// Path sets the layer or module.
func (r *Recorder) Path(path string) *Recorder { return r.Attrs(tensorconv.OpPath(path)) }

// FLOPs sets the number of floating-point operations.
func (r *Recorder) FLOPs(n int64) *Recorder { return r.Attrs(tensorconv.OpFLOPCount(n)) }

// Err marks the operation as failed. A nil err does nothing.
func (r *Recorder) Err(err error) *Recorder {
	if o := r.last(); o != nil && err != nil {
		o.failed, o.failure = true, errorText(err)
	}
	return r
}

// Attrs is [Op.Attrs].
func (r *Recorder) Attrs(attrs ...attribute.KeyValue) *Recorder {
	if r.last() != nil {
		r.attrs = append(r.attrs, attrs...)
	}
	return r
}

// Finish ends the operation under way and emits all that were recorded.
func (r *Recorder) Finish() {
	if r == nil {
		return
	}
	r.End()
	r.flush()
}

// flush emits the operations, all of which have ended.
func (r *Recorder) flush() {
	defer r.empty() // whatever happens, nothing is emitted twice
	if len(r.ops) > 0 {
		r.emit(r)
	}
}

// empty forgets what was recorded.
func (r *Recorder) empty() {
	clear(r.ops) // names and attributes are the application's
	clear(r.attrs)
	r.ops, r.attrs = r.ops[:0], r.attrs[:0]
	r.inputs, r.outputs = r.inputs[:0], r.outputs[:0]
	r.base = time.Now()
}
