package optrace

import (
	"encoding/binary"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// shapeKey collects shapes as bytes: for each its number of dimensions and
// the dimensions, eight bytes each. It is a map key that is built and looked
// up without allocating.
type shapeKey struct{ bytes []byte }

func (k *shapeKey) reset() { k.bytes = k.bytes[:0] }

func (k *shapeKey) add(dims []int64) {
	dims = dims[:min(len(dims), op.MaxRank+1)] // one more than allowed, so that readers see it
	b := binary.LittleEndian.AppendUint64(k.bytes, uint64(len(dims)))
	for _, d := range dims {
		b = binary.LittleEndian.AppendUint64(b, uint64(d))
	}
	k.bytes = b
}

// shapes decodes the key.
func (k *shapeKey) shapes() [][]int64 {
	var all [][]int64
	for rest := k.bytes; len(rest) > 0; {
		dims := make([]int64, binary.LittleEndian.Uint64(rest))
		rest = rest[8:]
		for i := range dims {
			dims[i] = int64(binary.LittleEndian.Uint64(rest))
			rest = rest[8:]
		}
		all = append(all, dims)
	}
	return all
}

// shapeCache keeps the attribute values of the shapes seen: building a nested
// value allocates several times, and the SDK and exporters compare equal
// values faster when they are one. It is a hash table of a fixed size in which
// newer shapes replace older ones, so that lookups and additions take no lock.
type shapeCache struct {
	once    sync.Once
	seed    maphash.Seed
	in, out [cacheSlots]atomic.Pointer[cachedShape]
}

// The size of a cache, a power of two, how many slots a value may be in, and
// the longest key that is kept: that of ten matrices, so that a cache takes a
// few MiB. It holds the shapes of a graph of thousands of operations.
const (
	cacheSlots   = 8192
	cacheWays    = 4
	maxCachedKey = 240
)

type cachedShape struct {
	key string
	kv  attribute.KeyValue
	// next came next once. Programs repeat the order of their operations, and
	// comparing a key costs half of hashing it and looking it up.
	next atomic.Pointer[cachedShape]
}

// shapeCursors remember for one goroutine at a time which shapes came last.
type shapeCursors struct{ in, out shapeCursor }

type shapeCursor struct {
	last   *cachedShape
	misses uint8 // how often another shape came next than expected
}

// relearnAfter is how many misses pass until another shape is expected: what is
// shared by all goroutines should seldom change.
const relearnAfter = 8

// expected returns the shape that came next before, if it has key k.
func (c *shapeCursor) expected(k *shapeKey) *cachedShape {
	if c.last == nil {
		return nil
	}
	if s := c.last.next.Load(); s != nil && s.key == string(k.bytes) { // does not allocate
		c.last = s
		return s
	}
	return nil
}

// came notes that s came next, unexpectedly.
func (c *shapeCursor) came(s *cachedShape) {
	if c.last != nil {
		if c.misses++; c.misses%relearnAfter == 1 {
			c.last.next.Store(s)
		}
	}
	c.last = s
}

// inputs returns the attribute of the inputs' shapes.
func (c *shapeCache) inputs(k *shapeKey, at *shapeCursors) attribute.KeyValue {
	if s := at.in.expected(k); s != nil {
		return s.kv
	}
	return c.get(&c.in, k, &at.in, func(shapes [][]int64) attribute.KeyValue { return tensorconv.InputShapes(shapes...) })
}

// output returns the attribute of the output's shape.
func (c *shapeCache) output(k *shapeKey, at *shapeCursors) attribute.KeyValue {
	if s := at.out.expected(k); s != nil {
		return s.kv
	}
	return c.get(&c.out, k, &at.out, func(shapes [][]int64) attribute.KeyValue { return tensorconv.OutputShape(shapes[0]...) })
}

func (c *shapeCache) get(
	table *[cacheSlots]atomic.Pointer[cachedShape], k *shapeKey, at *shapeCursor, build func([][]int64) attribute.KeyValue,
) attribute.KeyValue {
	if len(k.bytes) > maxCachedKey {
		return build(k.shapes())
	}
	c.once.Do(func() { c.seed = maphash.MakeSeed() })
	hash := maphash.Bytes(c.seed, k.bytes)
	base := hash & (cacheSlots - cacheWays)
	victim := base + hash>>32&(cacheWays-1)
	for i := base; i < base+cacheWays; i++ {
		s := table[i].Load()
		switch {
		case s == nil:
			victim = i
		case s.key == string(k.bytes):
			at.came(s)
			return s.kv
		}
	}
	s := &cachedShape{key: string(k.bytes), kv: build(k.shapes())}
	table[victim].Store(s)
	at.came(s)
	return s.kv
}
