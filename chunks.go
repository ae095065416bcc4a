package optrace

import (
	"slices"
	"sync"
)

// chunks owns the buffers of an encoding pipeline and bounds their bytes. A
// buffer is free, with a shard, full and waiting to be written, or being
// written. All have one size, but a record that does not fit makes one grow;
// what it grew by counts from when it is full, so that the bound is exceeded by
// one record per shard at most. It is safe for concurrent use.
type chunks struct {
	policy Policy
	size   int

	mu      sync.Mutex
	space   sync.Cond // a buffer became free, or the pipeline stops
	free    []*batch  // all of them of the size
	full    []*batch  // oldest first
	left    int64     // bytes that may still be taken; negative where buffers grew
	stopped bool
}

// newChunks returns chunks with room for number buffers of size bytes.
func newChunks(policy Policy, size, number int) *chunks {
	c := &chunks{policy: policy, size: size, left: int64(size) * int64(number)}
	c.space.L = &c.mu
	return c
}

// get returns an empty buffer, or nil where there is none and the policy is not
// to wait. lost is how many entries were given up for it.
func (c *chunks) get() (b *batch, lost int) {
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
			return newBatch(c.size), lost
		case c.stopped:
			return nil, lost
		case c.policy == DropOldest && len(c.full) > 0:
			lost += c.full[0].entries
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

func (c *chunks) takeFree() *batch {
	last := len(c.free) - 1
	b := c.free[last]
	c.free[last] = nil
	c.free = c.free[:last]
	return b
}

// put takes back a buffer that is no longer needed.
func (c *chunks) put(b *batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release(b)
	c.space.Signal()
}

func (c *chunks) release(b *batch) {
	if grown := cap(b.records) - c.size; grown > 0 {
		// Do not keep what a record of unusual size made of it.
		c.left += int64(grown)
		b = newBatch(c.size)
		c.space.Broadcast() // there may be room for several
	}
	b.reset()
	c.free = append(c.free, b)
}

// push adds a buffer to those waiting to be written.
func (c *chunks) push(b *batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left -= int64(cap(b.records) - c.size)
	c.full = append(c.full, b)
}

// pop returns the oldest buffer waiting to be written, or nil.
func (c *chunks) pop() *batch {
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

// unpop puts back what pop returned.
func (c *chunks) unpop(b *batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.full = slices.Insert(c.full, 0, b)
}

// stop wakes those who wait; they get nil.
func (c *chunks) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.space.Broadcast()
}
