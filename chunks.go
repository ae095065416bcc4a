package optrace

import "sync"

// chunks owns the buffers of an encoding pipeline. There is a fixed number of
// them, which is what bounds its memory: a buffer is free, with a shard, full
// and waiting to be written, or being written. It is safe for concurrent use.
type chunks struct {
	policy Policy
	size   int

	mu      sync.Mutex
	space   sync.Cond // a buffer became free, or the pipeline stops
	free    []*batch
	full    []*batch // oldest first
	left    int      // how many more may be made
	stopped bool
}

func newChunks(policy Policy, size, number int) *chunks {
	c := &chunks{policy: policy, size: size, left: number}
	c.space.L = &c.mu
	return c
}

// get returns an empty buffer, or nil where there is none and the policy is not
// to wait. lost is how many entries were given up for it.
func (c *chunks) get() (b *batch, lost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch n := len(c.free); {
		case n > 0:
			b = c.free[n-1]
			c.free = c.free[:n-1]
			return b, 0
		case c.left > 0:
			c.left--
			return &batch{records: make([]byte, 0, c.size)}, 0
		case c.stopped:
			return nil, 0
		case c.policy == DropOldest && len(c.full) > 0:
			b = c.full[0]
			c.full = c.full[1:]
			lost = b.entries
			b.reset()
			return b, lost
		case c.policy == Block:
			c.space.Wait()
		default:
			return nil, 0
		}
	}
}

// put takes back a buffer that is no longer needed.
func (c *chunks) put(b *batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cap(b.records) > 2*c.size {
		// A record of unusual size made it grow; do not keep the memory.
		b = &batch{records: make([]byte, 0, c.size)}
	}
	b.reset()
	c.free = append(c.free, b)
	c.space.Signal()
}

// push adds a buffer to those waiting to be written.
func (c *chunks) push(b *batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
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
	c.full = c.full[1:]
	return b
}

// stop wakes those who wait; they get nil.
func (c *chunks) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.space.Broadcast()
}
