package live

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/optrace/optrace/analyze/stacks"
	"github.com/optrace/optrace/analyze/trace"
	"github.com/optrace/optrace/internal/profilepush"
	"github.com/optrace/optrace/internal/record/convert"
	"github.com/optrace/optrace/internal/record/span"
	"github.com/optrace/optrace/internal/serve/livepage"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/op/attr"
)

// PushStats counts what became of the profiles that WithProfilePush sends: the Profiles and Operations that the receiver
// took, the profiles of them that it Rejected, the LostProfiles and LostOperations, the operations that were Missed and are in
// no profile, the Forgotten spans, which are not above operations, and the profiles Waiting to be sent; and the LastError.
type PushStats = profilepush.Stats

// The bounds of what waits to be folded into the profile of an interval: operations that have
// ended, and those below an operation that has not.
const (
	maxPending = 1 << 17
	maxHeld    = 1 << 16
)

// pushed is an operation that is to be in a profile.
type pushed struct {
	record
	frame *frame
}

// push makes a profile of the operations of each interval. Those that have ended wait; when
// there are many, and at the end of an interval, they are folded into a table of stacks.
type push struct {
	pusher   *profilepush.Pusher
	ancestry ancestry
	mapping  *attr.Mapping
	wake     chan struct{}
	missed   atomic.Int64

	mu      sync.Mutex
	pending []pushed

	// What follows is the pusher's goroutine's.
	folds    uint64
	held     []pushed // below operations that have not ended
	interval livepage.Interval
	told     int64 // of missed, what profiles have told
}

func newPush(cfg config) (*push, error) {
	client, err := profilepush.NewClient(cfg.pushURL, cfg.pushClient)
	if err != nil {
		return nil, err
	}
	p := &push{mapping: cfg.mapping, wake: make(chan struct{}, 1)}
	p.begin()
	p.pusher = profilepush.New(profilepush.Options{
		Client: client, Interval: cfg.pushInterval, Take: p.take, Wake: p.wake, Ready: func() { p.fold(false) },
	})
	return p, nil
}

func (p *push) begin() {
	p.interval = livepage.Interval{Stacks: stacks.NewTable(livepage.ProfileLimits)}
}

// add makes an operation wait for the next fold, which comes early when half of the room is taken.
func (p *push) add(o pushed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch len(p.pending) {
	case maxPending:
		p.miss(o.frame)
		return
	case maxPending / 2:
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
	p.pending = append(p.pending, o)
}

func (p *push) takePending() []pushed {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.pending
	p.pending = nil
	return taken
}

func (p *push) miss(f *frame) {
	f.missed.Store(true)
	p.missed.Add(1)
}

// take returns the profile of the interval, and begins another one.
func (p *push) take(last bool) (profilepush.Profile, error) {
	p.fold(last)
	i := p.interval
	p.begin()
	if i.Stacks.Operations() > 0 {
		missed := p.missed.Load()
		i.Dropped, p.told = missed-p.told, missed
	}
	return i.Profile("")
}

// fold adds the operations that have ended to the table; those below an operation that has
// not ended yet wait for it, unless it is the last time.
func (p *push) fold(last bool) {
	p.folds++
	f := &folding{
		push: p, conv: convert.New(p.mapping, textBytes), forest: trace.New(),
		operations: make(map[*frame]bool), spans: make(map[*frame]bool),
	}
	f.forest.KeepShapes()
	all := append(p.held, p.takePending()...)
	for i := range all {
		all[i].frame.pushed = p.folds
	}
	p.held = nil
	for i := range all {
		o := &all[i]
		if !last && len(p.held) < maxHeld && f.runsBelow(o.frame) {
			o.frame.pushed = 0
			p.held = append(p.held, *o)
			continue
		}
		f.add(o)
	}
	p.interval.Stacks.Merge(stacks.Of(f.forest))
}

type folding struct {
	*push
	conv   *convert.Converter
	forest *trace.Forest
	// operations says which of the frames that are no operations of a fold are operations,
	// and spans which are in the forest.
	operations, spans map[*frame]bool
	entry             op.Entry // of one operation
}

// runsBelow reports whether an operation above one has not ended.
func (f *folding) runsBelow(own *frame) bool {
	for a := own.above; a != nil; a = a.above {
		if a.pushed == 0 && !a.missed.Load() && f.isOperation(a) {
			return true
		}
	}
	return false
}

// isOperation reports whether a frame that was in no fold is an operation that will be.
func (f *folding) isOperation(a *frame) (is bool) {
	is, known := f.operations[a]
	if known {
		return is
	}
	defer func() {
		if recover() != nil { // it will be in no fold
			is = false
		}
		f.operations[a] = is
	}()
	return span.IsOperation(f.mapping, a.span.Attributes())
}

// add adds an operation, and those of the spans above it that are not operations of this
// fold.
func (f *folding) add(o *pushed) {
	for a := o.frame.above; a != nil && a.pushed != f.folds && !f.spans[a]; a = a.above {
		f.spans[a] = true
		f.addAncestor(a.span)
	}
	o.copyTo(&f.entry)
	f.forest.Add(op.Record{Entry: &f.entry})
	f.interval.Producers.Resource(o.resource)
	f.interval.Producers.Operation(&f.entry)
}

func (f *folding) addAncestor(s sdktrace.ReadOnlySpan) {
	defer func() { _ = recover() }() // one that cannot be read is above nothing
	d := span.Read(s, s.SpanContext(), s.Parent())
	if d.End.IsZero() {
		d.End = d.Start // it has not ended
	}
	f.forest.Add(op.Record{Span: f.conv.Ancestor(&d)})
}

func (p *push) lost() int64 { return p.missed.Load() + p.pusher.Stats().LostOperations }

func (p *push) shutdown(ctx context.Context) error {
	err := p.pusher.Shutdown(ctx)
	p.missed.Add(int64(len(p.takePending()))) // what ended meanwhile
	if err != nil {
		return fmt.Errorf("live: pushing profiles: %w", err)
	}
	return nil
}
