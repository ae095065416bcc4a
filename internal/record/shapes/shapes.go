// Package shapes keeps the attributes of shapes in a [Cache]: an attribute of nested slices costs several allocations,
// and equal attributes compare faster in shared memory. A Cache allocates on its first use. By default it has up to
// 16,384 attributes in 12 MiB; attributes of matrix products take about 3 MiB.
package shapes

import (
	"encoding/binary"
	"hash/maphash"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

const (
	// DefaultBytes is the default bound of a Cache.
	DefaultBytes = 12 << 20
	maxSlots     = 8192 // the size of a table, a power of two, enough for a graph of thousands of operations
	ways         = 4    // the number of slots for a shape
	// maxEntry is the largest memory of a kept attribute with its slot: five inputs with four dimensions.
	maxEntry = 768
)

// A Cache maps shapes to attributes. The zero Cache is ready to use. It is safe for concurrent use.
type Cache struct {
	inputs, output table
}

// New returns a Cache of at most maxBytes; with 0 it stays empty.
func New(maxBytes int) *Cache {
	slots := maxSlots
	for slots > 0 && 2*slots*maxEntry > maxBytes {
		slots /= 2
	}
	if slots < ways {
		slots = off
	}
	return &Cache{inputs: table{slots: slots}, output: table{slots: slots}}
}

// Inputs returns the attribute tensor.input.shapes for the shapes of k.
func (c *Cache) Inputs(k Key) attribute.KeyValue { return c.inputs.get(k, buildInputs) }

// Output returns the attribute tensor.output.shape for the only shape in k.
func (c *Cache) Output(k Key) attribute.KeyValue { return c.output.get(k, buildOutput) }

func buildInputs(shapes [][]int64) attribute.KeyValue { return tensorconv.InputShapes(shapes...) }
func buildOutput(shapes [][]int64) attribute.KeyValue { return tensorconv.OutputShape(shapes[0]...) }

// table is a hash table of fixed size. Newer shapes replace older ones. Lookups and additions take no lock.
type table struct {
	slots   int                                     // a power of two; 0 is maxSlots
	entries atomic.Pointer[[]atomic.Pointer[entry]] // nil before the first use
}

const off = -1 // the number of slots of a table that stays empty

type entry struct {
	key string
	kv  attribute.KeyValue
}

var seed = maphash.MakeSeed()

func (t *table) get(k Key, build func([][]int64) attribute.KeyValue) attribute.KeyValue {
	if t.slots == off || k.memory() > maxEntry {
		return build(k.shapes())
	}
	all := t.all()
	hash := maphash.Bytes(seed, k)
	base := hash & uint64(len(all)-ways)
	set := all[base : base+ways]
	victim := &set[hash>>32&(ways-1)]
	for i := range set {
		e := set[i].Load()
		switch {
		case e == nil:
			victim = &set[i]
		case e.key == string(k): // does not allocate
			return e.kv
		}
	}
	e := &entry{key: string(k), kv: build(k.shapes())}
	victim.Store(e)
	return e.kv
}

func (t *table) all() []atomic.Pointer[entry] {
	all := t.entries.Load()
	if all == nil {
		slots := t.slots
		if slots == 0 {
			slots = maxSlots
		}
		made := make([]atomic.Pointer[entry], slots)
		t.entries.CompareAndSwap(nil, &made)
		all = t.entries.Load()
	}
	return *all
}

// A Key holds shapes as bytes: per shape the number of dimensions and the dimensions, eight bytes each.
type Key []byte

// Append returns k with a copy of dims added. An excess over [op.MaxRank] stays visible as one extra dimension.
func (k Key) Append(dims []int64) Key {
	dims = dims[:min(len(dims), op.MaxRank+1)]
	k = binary.LittleEndian.AppendUint64(k, uint64(len(dims)))
	for _, d := range dims {
		k = binary.LittleEndian.AppendUint64(k, uint64(d))
	}
	return k
}

func (k Key) memory() int {
	const slot, entry, value = 8, 80, 48 // bytes
	n := 0
	for rest := k; len(rest) > 0; n++ {
		rest = rest[8+8*binary.LittleEndian.Uint64(rest):]
	}
	return slot + entry + 2*len(k) + n*value
}

func (k Key) shapes() [][]int64 {
	var all [][]int64
	for len(k) > 0 {
		dims := make([]int64, binary.LittleEndian.Uint64(k))
		k = k[8:]
		for i := range dims {
			dims[i] = int64(binary.LittleEndian.Uint64(k))
			k = k[8:]
		}
		all = append(all, dims)
	}
	return all
}
