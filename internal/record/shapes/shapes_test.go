package shapes

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/optrace/optrace/internal/testing/cases"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

func keyOf(shapes ...[]int64) (k Key) {
	for _, dims := range shapes {
		k = k.Append(dims)
	}
	return k
}

func TestKey(t *testing.T) {
	for _, want := range [][][]int64{
		nil, {{}}, {{64, 784}, {784, 256}}, {{1}, {}, {op.Dynamic, math.MaxInt64, math.MinInt64}},
	} {
		check.Equal(t, fmt.Sprintf("shapes of the key of %v", want), want, keyOf(want...).shapes())
	}
	if string(keyOf([]int64{1, 2})) == string(keyOf([]int64{1}, []int64{2})) {
		t.Error("different shapes have equal keys")
	}
	check.Equal(t, "a shape of rank 1000 is kept with: dimensions", op.MaxRank+1,
		len(keyOf(make([]int64, 1000)).shapes()[0]))
}

func TestCache(t *testing.T) {
	var c Cache
	long := slices.Repeat([][]int64{{}}, 100)
	for _, inputs := range [][][]int64{nil, {{}}, {{64, 784}, {784, 256}}, {{64, 784}}, long} {
		for range 2 {
			check.Equal(t, fmt.Sprint(inputs), tensorconv.InputShapes(inputs...) == c.Inputs(keyOf(inputs...)), true)
		}
	}
	for _, dims := range [][]int64{{}, {64, 256}, {op.Dynamic}} {
		for range 2 {
			check.Equal(t, fmt.Sprint(dims), tensorconv.OutputShape(dims...) == c.Output(keyOf(dims)), true)
		}
	}
}

// An attribute is built once.
func TestCacheAllocations(t *testing.T) {
	var c Cache
	k := keyOf([]int64{64, 784}, []int64{784, 256})
	if n := testing.AllocsPerRun(100, func() { c.Inputs(k) }); n > 0 {
		t.Errorf("a known shape makes %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { k = k[:0].Append([]int64{64, 784}).Append([]int64{784, 256}) }); n > 0 {
		t.Errorf("a key in memory that is used again makes %v allocations", n)
	}
}

// A Cache takes no memory before its first use, and its size is bounded.
func TestCacheSize(t *testing.T) {
	if n := unsafe.Sizeof(Cache{}); n > 64 {
		t.Errorf("an unused cache takes %d bytes", n)
	}
	scalars := make([][]int64, 20)
	for _, tt := range []struct {
		name   string
		inputs func(i int64) [][]int64
		output func(i int64) []int64
	}{
		{
			"matrices",
			func(i int64) [][]int64 { return [][]int64{{i, 784}, {784, 256}} },
			func(i int64) []int64 { return []int64{i, 256} },
		},
		{
			"of any size",
			func(i int64) [][]int64 { return append(scalars[:i%12:i%12], []int64{i, 1, 1}) },
			func(i int64) []int64 { return append(make([]int64, i%40), i) },
		},
	} {
		for most := range cases.Of(t, 1, []int{DefaultBytes, 50 << 10, 0}) {
			t.Run(fmt.Sprintf("%s in %d KiB", tt.name, most>>10), func(t *testing.T) {
				used := int64(math.MaxInt64)
				for range 5 { // the least: the runtime allocates, too
					c := New(most)
					before := check.Heap()
					for i := range int64(2 * maxSlots) {
						c.Inputs(keyOf(tt.inputs(i)...))
						c.Output(keyOf(tt.output(i)))
					}
					used = min(used, check.Heap()-before)
					runtime.KeepAlive(c)
				}
				if used > int64(most)+4<<10 {
					t.Errorf("a full cache takes %d bytes, want at most %d", used, most)
				}
			})
		}
	}
}

func TestCacheConcurrentSafe(t *testing.T) {
	var c Cache
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range int64(maxSlots) {
				if got := c.Output(keyOf([]int64{i})); got != tensorconv.OutputShape(i) {
					t.Errorf("output %d: got %v", i, got.Value)
				}
			}
		})
	}
	wg.Wait()
}
