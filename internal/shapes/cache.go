package shapes

import (
	"hash/maphash"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/tensorconv"
)

const (
	// slots is the size of a table, a power of two. It holds the shapes of a graph of thousands of operations.
	slots = 8192
	// ways is the number of slots that a shape may be in.
	ways = 4
	// maxKey is the longest Key that is kept, that of ten matrices.
	maxKey = 240
)

// A Cache maps shapes to attributes. The zero Cache is ready to use. It is safe for concurrent use.
type Cache struct {
	inputs, output table
}

// Inputs returns the attribute tensor.input.shapes for the shapes in k.
func (c *Cache) Inputs(k Key) attribute.KeyValue { return c.inputs.get(k, buildInputs) }

// Output returns the attribute tensor.output.shape for the only shape in k.
func (c *Cache) Output(k Key) attribute.KeyValue { return c.output.get(k, buildOutput) }

func buildInputs(shapes [][]int64) attribute.KeyValue { return tensorconv.InputShapes(shapes...) }
func buildOutput(shapes [][]int64) attribute.KeyValue { return tensorconv.OutputShape(shapes[0]...) }

// table is a hash table of a fixed size in which newer shapes replace older ones, so that lookups and additions take no lock.
type table struct {
	slots atomic.Pointer[[slots]atomic.Pointer[entry]] // nil before the first use
}

type entry struct {
	key string
	kv  attribute.KeyValue
}

var seed = maphash.MakeSeed()

func (t *table) get(k Key, build func([][]int64) attribute.KeyValue) attribute.KeyValue {
	if len(k) > maxKey {
		return build(k.shapes())
	}
	all := t.slots.Load()
	if all == nil {
		t.slots.CompareAndSwap(nil, new([slots]atomic.Pointer[entry]))
		all = t.slots.Load()
	}
	hash := maphash.Bytes(seed, k)
	base := hash & (slots - ways)
	victim := base + hash>>32&(ways-1)
	for i := base; i < base+ways; i++ {
		e := all[i].Load()
		switch {
		case e == nil:
			victim = i
		case e.key == string(k): // does not allocate
			return e.kv
		}
	}
	e := &entry{key: string(k), kv: build(k.shapes())}
	all[victim].Store(e)
	return e.kv
}
