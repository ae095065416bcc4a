package stepping

import (
	"context"
	"sync"

	"github.com/gomlx/gomlx/backends"

	"github.com/optrace/optrace"
)

// Backend is a backend that runs graphs operation by operation on another one, and
// records them. Its methods may be called by several goroutines at a time.
type Backend struct {
	backends.Backend // runs the operations
	tracer           *optrace.Tracer
	device           string

	mu   sync.Mutex
	ctx  context.Context
	path string
}

var _ backends.Backend = (*Backend)(nil)

// New returns a Backend that runs operations on the first device of inner, and records
// them with tracer as those of device, such as "cpu:0". With a nil tracer it records
// nothing.
func New(inner backends.Backend, tracer *optrace.Tracer, device string) *Backend {
	return &Backend{Backend: inner, tracer: tracer, device: device, ctx: context.Background()}
}

// SetContext sets the context of the executions that begin from now on: their operations
// are recorded below its span, with its step. GoMLX hands no context down to
// a backend. Programs that execute graphs at the same time under different spans
// need a Backend for each.
func (b *Backend) SetContext(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ctx = ctx
}

// SetPath sets the layer or module of the operations that are built from now on. Where
// it is "", as at first, it is the name of the graph. GoMLX builds a graph once, with
// the first execution.
func (b *Backend) SetPath(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.path = path
}

// current returns what SetContext and SetPath have set.
func (b *Backend) current() (ctx context.Context, path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ctx, b.path
}

// Builder returns a [Builder].
func (b *Backend) Builder(name string) backends.Builder {
	builder := &Builder{backend: b, name: name}
	builder.ops.builder = builder
	return builder
}
