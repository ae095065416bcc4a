package optrace

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/optrace/optrace/internal/shapes"
	"github.com/optrace/optrace/op"
)

// Recorder records operations that follow one another, such as the steps of a
// graph executor, at almost no cost: it notes names, times and shapes in
// buffers of its own, and all else happens in Finish. Beginning an operation
// ends the one before with the same reading of the clock.
//
//	rec := tracer.Recorder(ctx)
//	rec.Begin("conv", "cuda:0")
//	rec.EndShapes([]op.Shape{{1, 3, 8, 8}}, op.Shape{1, 16, 6, 6})
//	rec.Begin("relu", "cuda:0")
//	rec.Begin("pool", "cuda:0") // ends relu
//	rec.Finish()                // ends pool
//
// A Recorder from a [Tracer] makes spans of the operations, with the times at
// which they ran, below the span of the context; one from a [Processor] hands
// them to it as entries, without spans. It keeps about 100 bytes per operation,
// and its shapes, until Finish; after that it may be used again.
//
// A Recorder is used by one goroutine at a time; Finish may run on another one.
type Recorder struct {
	emit func(*Recorder)
	ctx  context.Context
	step op.Int

	base   time.Time // offsets count from here
	ops    []recordedOp
	shapes shapes.Key // of all operations, one after the other
	open   bool       // the last operation has not ended

	failures bool // an operation has failed

	// What emitting one operation after the other uses again and again.
	scratch emitScratch
}

// recordedOp is one operation of a Recorder.
type recordedOp struct {
	prep       *Prepared // nil where name and device say it
	name       string
	device     string
	start, end int64 // since the recorder's base, ns
	dtype      op.DType
	failure    error
	// Where the shapes lie in the recorder's bytes: the inputs from in to out,
	// the output from out to rest.
	in, out, rest int
	hasIn, hasOut bool
}

func newRecorder(ctx context.Context, emit func(*Recorder)) *Recorder {
	if ctx == nil {
		ctx = context.Background()
	}
	r := &Recorder{emit: emit, ctx: ctx, base: time.Now()}
	if step, ok := stepFromContext(ctx); ok {
		r.step = op.Known(step)
	}
	return r
}

// now reads the monotonic clock.
func (r *Recorder) now() int64 { return int64(time.Since(r.base)) }

// Begin begins the operation name on device, which may be "", and ends the one
// before if it is still under way.
func (r *Recorder) Begin(name, device string) {
	r.begin(recordedOp{name: name, device: device})
}

// BeginPrepared begins an operation that repeats; see [Tracer.Prepare].
func (r *Recorder) BeginPrepared(p *Prepared) { r.begin(recordedOp{prep: p}) }

func (r *Recorder) begin(o recordedOp) {
	now := r.now()
	if r.open {
		r.ops[len(r.ops)-1].end = now
	}
	o.start = now
	o.in = len(r.shapes)
	o.out, o.rest = o.in, o.in
	r.ops = append(r.ops, o)
	r.open = true
}

// End ends the operation under way; without one it does nothing.
func (r *Recorder) End() {
	if r.open {
		r.ops[len(r.ops)-1].end = r.now()
		r.open = false
	}
}

// EndShapes ends the operation under way and states its shapes, which are
// copied; a nil output leaves the output unknown. Without an operation under
// way it does nothing.
func (r *Recorder) EndShapes(inputs []op.Shape, output op.Shape) {
	if !r.open {
		return
	}
	r.End()
	o := &r.ops[len(r.ops)-1]
	if o.prep != nil {
		return // prepared with its shapes
	}
	for _, s := range inputs[:min(len(inputs), op.MaxInputs+1)] { // one more than allowed, so that it shows
		r.shapes = r.shapes.Append(s)
	}
	o.out = len(r.shapes)
	if output != nil {
		r.shapes = r.shapes.Append(output)
	}
	o.rest = len(r.shapes)
	o.hasIn, o.hasOut = inputs != nil, output != nil
}

// DType sets the element type of the last operation's output.
func (r *Recorder) DType(t op.DType) {
	if n := len(r.ops); n > 0 {
		r.ops[n-1].dtype = t
	}
}

// Err marks the last operation as failed. A nil err does nothing.
func (r *Recorder) Err(err error) {
	if n := len(r.ops); n > 0 && err != nil {
		r.ops[n-1].failure, r.failures = err, true
	}
}

// Current returns a copy of what has been recorded since the last Finish,
// without an operation that is still under way. Operations without an
// iteration are numbered.
func (r *Recorder) Current() *op.Trace {
	t := &op.Trace{}
	c := newConverter(nil)
	ended := len(r.ops)
	if r.open {
		ended--
	}
	for i := range ended {
		e := r.entry(c, &r.ops[i])
		if !e.Step.Known {
			e.Step = op.Known(int64(i))
		}
		t.AddEntry(e)
	}
	return t
}

// Finish ends the operation under way and emits all that were recorded.
func (r *Recorder) Finish() {
	r.End()
	if len(r.ops) > 0 {
		r.emit(r)
	}
	r.empty()
}

// empty forgets what was recorded.
func (r *Recorder) empty() {
	clear(r.ops) // names and errors are the application's
	r.ops, r.failures = r.ops[:0], false
	r.shapes = r.shapes[:0]
	r.base = time.Now()
}

// entry returns the operation as an entry, without ids. It belongs to c.
func (r *Recorder) entry(c *converter, o *recordedOp) *op.Entry {
	b := c.builder
	b.Reset()
	if o.prep != nil {
		for _, kv := range o.prep.attrs {
			c.attribute(string(kv.Key), kv.Value)
		}
	} else {
		b.Str(op.KeyName, o.name)
		b.Str(op.KeyDevice, o.device)
		r.feedShapes(b, o)
	}
	if o.dtype != "" {
		b.Str(op.KeyDType, string(o.dtype))
	}
	if r.step.Known {
		b.Int(op.KeyStep, r.step.V)
	}
	if o.failure != nil {
		b.SetError(o.failure.Error())
	}
	b.SetName(o.name)
	b.SetScope(ScopeName)
	b.SetTime(op.Known(r.base.UnixNano()+o.start), o.end-o.start)
	e, _ := b.Entry() // an operation: it has a name
	return e
}

func (r *Recorder) feedShapes(b *op.Builder, o *recordedOp) {
	if o.hasIn {
		list := b.BeginList(op.KeyInputShapes)
		for rest := r.shapes[o.in:o.out]; len(rest) > 0; {
			list.Begin()
			rest = feedDims(&list, rest)
			list.End()
		}
		list.End()
	}
	if o.hasOut {
		list := b.BeginList(op.KeyOutputShape)
		feedDims(&list, r.shapes[o.out:o.rest])
		list.End()
	}
}

// feedDims hands the dimensions of the first shape in key to the list and
// returns the shapes behind it.
func feedDims(list *op.List, key []byte) (rest []byte) {
	n := binary.LittleEndian.Uint64(key)
	key = key[8:]
	for range n {
		list.Int(int64(binary.LittleEndian.Uint64(key)))
		key = key[8:]
	}
	return key
}
