package pipeline

import (
	"slices"
	"sync"

	"github.com/optrace/optrace/internal/record/encoding"
)

// bufferPool owns the buffers of a buffered pipeline and bounds their bytes. A buffer is free, with a shard, waiting
// or being written. All have one size. A larger record makes its buffer grow, which counts once the buffer is full:
// the pool exceeds its bound by at most one record per shard. It is safe for concurrent use.
type bufferPool struct {
	policy Policy
	size   int

	mu      sync.Mutex
	space   sync.Cond         // a buffer became free, or the pipeline stops
	free    []*encoding.Batch // all of them of the size
	full    []*encoding.Batch // oldest first
	left    int64             // bytes that may still be taken; negative where buffers grew
	stopped bool
}

func newBufferPool(policy Policy, size, number int) *bufferPool {
	c := &bufferPool{policy: policy, size: size, left: int64(size) * int64(number)}
	c.space.L = &c.mu
	return c
}

// get returns an empty buffer and the number of entries dropped for it, or nil if there is none and no wait.
func (c *bufferPool) get() (b *encoding.Batch, lost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		for c.left < 0 && len(c.free) > 0 { // others have grown
			c.takeFree()
			c.left += int64(c.size)
		}
		switch {
		case len(c.free) > 0:
			return c.takeFree(), lost
		case c.left >= int64(c.size):
			c.left -= int64(c.size)
			return encoding.NewBatch(c.size), lost
		case c.stopped:
			return nil, lost
		case c.policy == DropOldest && len(c.full) > 0:
			lost += c.full[0].Entries
			c.release(c.full[0])
			c.full[0] = nil
			c.full = c.full[1:]
		case c.policy == Block:
			c.space.Wait()
		default:
			return nil, lost
		}
	}
}

func (c *bufferPool) takeFree() *encoding.Batch {
	last := len(c.free) - 1
	b := c.free[last]
	c.free[last] = nil
	c.free = c.free[:last]
	return b
}

func (c *bufferPool) put(b *encoding.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release(b)
	c.space.Signal()
}

func (c *bufferPool) release(b *encoding.Batch) {
	if grown := b.Memory() - c.size; grown > 0 {
		// Do not keep a grown buffer.
		c.left += int64(grown)
		b = encoding.NewBatch(c.size)
		c.space.Broadcast() // there may be room for several
	}
	b.Reset()
	c.free = append(c.free, b)
}

func (c *bufferPool) push(b *encoding.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left -= int64(b.Memory() - c.size)
	c.full = append(c.full, b)
}

func (c *bufferPool) pop() *encoding.Batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.full) == 0 {
		return nil
	}
	b := c.full[0]
	c.full[0] = nil
	c.full = c.full[1:]
	return b
}

func (c *bufferPool) pushFront(b *encoding.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.full = slices.Insert(c.full, 0, b)
}

// stop ends all waits in get, which then returns nil.
func (c *bufferPool) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.space.Broadcast()
}
