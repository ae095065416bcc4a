package attrcache

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/internal/model/attrkey"
	"github.com/optrace/optrace/internal/testing/check"
	"github.com/optrace/optrace/tensorconv"
)

// look looks a set up as encoders do and adds it if it is not found.
func (c *Cache[V]) look(attrs []attribute.KeyValue, v V, size int) (found *V) {
	k := Key{Attrs: attrs, Varying: FindVarying(attrs)}
	found, add := c.Lookup(&k)
	if add {
		c.Add(&k, v, size)
	}
	return found
}

// maxBytes is the bound of the caches under test.
const maxBytes = 16 << 20

// numbered returns the i-th of distinct sets.
func numbered(i int) []attribute.KeyValue {
	return []attribute.KeyValue{tensorconv.OpName("matmul"), attribute.Int("i", i)}
}

func TestCacheFindsWhatItHolds(t *testing.T) {
	c := New[int](maxBytes)
	const sets = 5000
	for round := range 3 {
		for i := range sets {
			found := c.look(numbered(i), i, 10)
			if round > 0 && (found == nil || *found != i) {
				t.Fatalf("round %d: set %d is %v", round, i, found)
			}
		}
	}
	check.Equal(t, "sets are held", sets, c.used)
}

// With any number of sets the size stays within the bound, and held sets are found.
func TestCacheIsBounded(t *testing.T) {
	const budget = 1 << 20
	c := New[int](budget)
	hits := 0
	for i := range 500_000 {
		if found := c.look(numbered(i%7_000), i%7_000, 100); found != nil {
			hits++
			if *found != i%7_000 {
				t.Fatalf("set %d is found as %d", i%7_000, *found)
			}
		}
		if c.bytes > budget {
			t.Fatalf("after %d sets %d bytes are taken, allowed are %d", i, c.bytes, budget)
		}
	}
	if hits < 100_000 {
		t.Errorf("%d hits: of a cycle that does not fit, a part should stay", hits)
	}
	if off := New[int](0); off.look(numbered(1), 1, 1) != nil || off.slots != nil {
		t.Error("a memo without a budget holds something")
	}
}

// A cache takes as much memory as it says, whatever its sets hold.
func TestCacheMemory(t *testing.T) {
	const budget = 2 << 20
	numbers := make([]int64, 390)
	for _, tt := range []struct {
		name string
		set  func(i int) []attribute.KeyValue
	}{
		{"numbers", numbered},
		{"texts", func(i int) []attribute.KeyValue {
			return []attribute.KeyValue{tensorconv.OpName(strings.Repeat("x", 200) + strconv.Itoa(i))}
		}},
		{"keys", func(i int) []attribute.KeyValue {
			return []attribute.KeyValue{attribute.Int(strings.Repeat("x", 100)+strconv.Itoa(i), i)}
		}},
		{"shapes", func(i int) []attribute.KeyValue {
			return []attribute.KeyValue{tensorconv.OpName("matmul"), tensorconv.InputShapes([]int64{int64(i), 784},
				[]int64{784, 256})}
		}},
		{"long lists", func(i int) []attribute.KeyValue {
			numbers[7] = int64(i)
			return []attribute.KeyValue{tensorconv.OpName("matmul"), attribute.Int64Slice("n", numbers)}
		}},
		{"many scalars", func(i int) []attribute.KeyValue {
			return []attribute.KeyValue{attribute.Slice("n", slices.Repeat([]attribute.Value{attribute.IntValue(i)},
				100)...)}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := check.Heap()
			c := New[[10]int](budget)
			for i := range window - 1 {
				k := Key{Attrs: tt.set(i), Varying: NoVarying, Name: strings.Repeat("n", i%100)}
				if _, add := c.Lookup(&k); add {
					c.Add(&k, [10]int{}, 0)
				}
			}
			if used := check.Heap() - before; used > budget*11/10 || c.full && used < budget/2 {
				t.Errorf("%d bytes are taken, the bound is %d", used, budget)
			}
			runtime.KeepAlive(&c)
		})
	}
}

// Sets without repetition make the cache skip lookups. Repeated sets end this.
func TestCacheIsBypassed(t *testing.T) {
	c := New[int](maxBytes)
	const lookups = 200 * window
	added := 0
	for i := range lookups {
		before := c.used
		c.look(numbered(i), i, 10)
		if c.used > before {
			added++
		}
	}
	if share := float64(added) / lookups; share > 0.15 {
		t.Errorf("%.2f of sets that do not come again were added", share)
	}
	hits := 0
	for i := range lookups {
		if c.look(numbered(-i%100), i, 10) != nil {
			hits++
		}
	}
	if share := float64(hits) / lookups; share < 0.5 {
		t.Errorf("%.2f of sets that come again are found", share)
	}
}

// Whatever is left out of a fingerprint, the rest of a set counts.
func TestFingerprint(t *testing.T) {
	text := "f32 and more"
	list := attribute.Int64SliceValue([]int64{1, 2})
	base := func() []attribute.KeyValue {
		return []attribute.KeyValue{
			tensorconv.OpName("matmul"), tensorconv.DeviceID("cuda:0"), tensorconv.Step(1),
			attribute.String(attrkey.DType, text), attribute.Int("n", 7), attribute.Float64("x", math.NaN()),
			{Key: "list", Value: list}, {Key: "empty"}, tensorconv.LaunchTime(3),
		}
	}
	seeds := newSeeds()
	of := func(attrs []attribute.KeyValue) fingerprint {
		f, ok := seeds.of(&Key{Attrs: attrs, Varying: FindVarying(attrs)})
		if !ok {
			t.Fatalf("%v has no fingerprint", attrs)
		}
		return f
	}
	for _, tt := range []struct {
		what string
		at   int
		to   attribute.KeyValue
		same bool
	}{
		{"nothing", 4, attribute.Int("n", 7), true}, {"the device", 1, tensorconv.DeviceID("cuda:1"), true},
		{"the step", 2, tensorconv.Step(7), true}, {"the launch time", 8, tensorconv.LaunchTime(9), true},
		{"the type of the step", 2, attribute.Float64(attrkey.Step, 1), false},
		{"a text", 0, tensorconv.OpName("relu"), false},
		{"the length of a text", 3, attribute.String(attrkey.DType, text[:3]), false},
		{"the length of a key", 4, attribute.Int("n2"[:2], 7), false},
		{"a number", 4, attribute.Int("n", 8), false},
		{"the type of a number", 4, attribute.Float64("n", math.Float64frombits(7)), false},
		{"the sign of NaN", 5, attribute.Float64("x", math.Copysign(math.NaN(), -1)), false},
		{"a list", 6, attribute.Int64Slice("list", []int64{1, 2}), false},
		{"a value", 7, attribute.Int("empty", 0), false},
	} {
		changed := base()
		changed[tt.at] = tt.to
		check.Equal(t, fmt.Sprintf("%s changed: the fingerprints are equal", tt.what), tt.same,
			of(base()) == of(changed))
	}
	if of(base()) == of(base()[:7]) {
		t.Error("the last attribute makes no difference")
	}
	swapped := base()
	swapped[3], swapped[4] = swapped[4], swapped[3]
	if of(base()) == of(swapped) {
		t.Error("the order makes no difference")
	}
	long := &Key{Attrs: []attribute.KeyValue{tensorconv.OpName(strings.Repeat("x", 1<<16))}}
	if _, ok := seeds.of(long); ok {
		t.Error("a long text has a fingerprint")
	}
	later := attribute.Int("n", 7)
	*(*attribute.Type)(unsafe.Pointer(&later.Value)) = attribute.MAP + 1
	if _, ok := seeds.of(&Key{Attrs: []attribute.KeyValue{later}}); ok {
		t.Error("a value of an unknown type has a fingerprint")
	}
}

func TestAreWide(t *testing.T) {
	for _, tt := range []struct {
		a, b uint64
		want bool
	}{
		{0, 0, false}, {1<<47 - 1, math.MaxUint64, false}, {0, 1 << 56, true}, {1 << 47, 0, true},
		{math.MaxUint64 - 1<<47, 0, true},
	} {
		check.Equal(t, fmt.Sprintf("%x and %x are wide", tt.a, tt.b), tt.want, areWide(tt.a, tt.b))
	}
}

// Few of many sets with similar numbers share a slot.
func TestFingerprintsSpread(t *testing.T) {
	seeds := newSeeds()
	const sets, slots = 4096, 8192
	var taken [slots]bool
	used := 0
	for i := range sets {
		f, _ := seeds.of(&Key{Attrs: numbered(i * 64), Varying: NoVarying})
		if at := f.slot() % slots; !taken[at] {
			taken[at] = true
			used++
		}
	}
	if used < sets*3/5 { // at random it would be 0.79
		t.Errorf("%d sets take %d slots", sets, used)
	}
}
