package pipeline

import (
	"testing"
	"testing/synctest"

	"github.com/optrace/optrace/internal/encoding"
)

// fill takes a buffer and pushes it with a number of entries.
func fill(t *testing.T, c *bufferPool, entries int) {
	t.Helper()
	b, lost := c.get()
	if b == nil || lost != 0 {
		t.Fatalf("get returns %v and a loss of %d", b, lost)
	}
	b.Entries = entries
	c.push(b)
}

func TestBufferPoolGet(t *testing.T) {
	const size, number = 4 << 10, 2
	tests := []struct {
		name   string
		policy Policy
		before func(*testing.T, *bufferPool)
		want   bool // there is a buffer
		lost   int
	}{
		{name: "new", before: func(*testing.T, *bufferPool) {}, want: true},
		{name: "one full", before: func(t *testing.T, c *bufferPool) { fill(t, c, 3) }, want: true},
		{name: "all full, drop newest", before: func(t *testing.T, c *bufferPool) { fill(t, c, 3); fill(t, c, 5) }},
		{
			name: "all full, drop oldest", policy: DropOldest,
			before: func(t *testing.T, c *bufferPool) { fill(t, c, 3); fill(t, c, 5) }, want: true, lost: 3,
		},
		{
			name: "all taken, drop oldest", policy: DropOldest,
			before: func(t *testing.T, c *bufferPool) { fill(t, c, 3); fill(t, c, 5); c.pop(); c.pop() },
		},
		{
			name:   "one written",
			before: func(t *testing.T, c *bufferPool) { fill(t, c, 3); fill(t, c, 5); c.put(c.pop()) }, want: true,
		},
		{
			name: "one put back to be written, drop oldest", policy: DropOldest,
			before: func(t *testing.T, c *bufferPool) { fill(t, c, 3); fill(t, c, 5); c.pushFront(c.pop()) }, want: true, lost: 3,
		},
		{
			name: "one has grown by the size of another",
			before: func(_ *testing.T, c *bufferPool) {
				b, _ := c.get()
				b.Records = append(make([]byte, 0, 2*size), b.Records...)
				c.push(b)
			},
		},
		{
			name: "one that has grown is written",
			before: func(_ *testing.T, c *bufferPool) {
				b, _ := c.get()
				b.Records = append(make([]byte, 0, 2*size), b.Records...)
				c.push(b)
				c.put(c.pop())
			},
			want: true,
		},
		{
			name: "stopped, block", policy: Block,
			before: func(t *testing.T, c *bufferPool) { fill(t, c, 3); fill(t, c, 5); c.stop() },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newBufferPool(tt.policy, size, number)
			tt.before(t, c)
			b, lost := c.get()
			if (b != nil) != tt.want || lost != tt.lost {
				t.Fatalf("get returns a buffer: %v and a loss of %d, want %v, %d", b != nil, lost, tt.want, tt.lost)
			}
			if b != nil && (!b.Empty() || b.Entries != 0 || cap(b.Records) != size) {
				t.Errorf("the buffer is %d bytes with %d entries, empty: %v", cap(b.Records), b.Entries, b.Empty())
			}
		})
	}
}

func TestBufferPoolBlocks(t *testing.T) {
	for _, tt := range []struct {
		name  string
		space func(*bufferPool)
		want  bool
	}{
		{"put", func(c *bufferPool) { c.put(c.pop()) }, true},
		{"stop", (*bufferPool).stop, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newBufferPool(Block, 4<<10, 1)
				fill(t, c, 1)
				got := make(chan *encoding.Batch, 1)
				go func() {
					b, _ := c.get()
					got <- b
				}()
				synctest.Wait()
				if len(got) > 0 {
					t.Fatal("get returns although there is no room")
				}
				tt.space(c)
				if b := <-got; (b != nil) != tt.want {
					t.Errorf("get returns a buffer: %v, want %v", b != nil, tt.want)
				}
			})
		})
	}
}
