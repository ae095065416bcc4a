package optrace

import (
	"hash/maphash"
	"math"
	"strconv"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/optrace/optrace/op"
	"github.com/optrace/optrace/tensorconv"
)

// look looks a set up as encoders do and adds it where it is not known.
func (m *attributeMemo[V]) look(attrs []attribute.KeyValue, v V, size int) (found *V) {
	k := memoKey{attrs: attrs, loose: findLoose(attrs)}
	found, worthAdding := m.find(&k)
	if worthAdding {
		m.add(&k, v, size)
	}
	return found
}

// numbered returns the i-th of sets that all differ.
func numbered(i int) []attribute.KeyValue {
	return []attribute.KeyValue{tensorconv.OpName("matmul"), attribute.Int("i", i)}
}

func TestAttributeMemoFindsWhatItHolds(t *testing.T) {
	m := attributeMemo[int]{budget: maxMemoBytes}
	const sets = 5000
	for round := range 3 {
		for i := range sets {
			found := m.look(numbered(i), i, 10)
			if round > 0 && (found == nil || *found != i) {
				t.Fatalf("round %d: set %d is %v", round, i, found)
			}
		}
	}
	if m.used != sets {
		t.Errorf("%d sets are held, want %d", m.used, sets)
	}
}

// However many sets there are, their size stays within the bound, and those that
// are held are found.
func TestAttributeMemoIsBounded(t *testing.T) {
	const budget = 1 << 20
	m := attributeMemo[int]{budget: budget}
	hits := 0
	for i := range 500_000 {
		if found := m.look(numbered(i%7_000), i%7_000, 100); found != nil {
			hits++
			if *found != i%7_000 {
				t.Fatalf("set %d is found as %d", i%7_000, *found)
			}
		}
		if m.bytes > budget {
			t.Fatalf("after %d sets %d bytes are taken, allowed are %d", i, m.bytes, budget)
		}
	}
	if hits < 100_000 {
		t.Errorf("%d hits: of a cycle that does not fit, a part should stay", hits)
	}
	if off := (attributeMemo[int]{}); off.look(numbered(1), 1, 1) != nil || off.slots != nil {
		t.Error("a memo without a budget holds something")
	}
}

// Sets that never come again make the memo rest; when they do come again it
// takes up work.
func TestAttributeMemoRests(t *testing.T) {
	m := attributeMemo[int]{budget: maxMemoBytes}
	added := 0
	for i := range 200 * restWindow {
		before := m.used
		m.look(numbered(i), i, 10)
		if m.used > before {
			added++
		}
	}
	if share := float64(added) / (200 * restWindow); share > 0.1 {
		t.Errorf("%.2f of sets that do not come again were added", share)
	}
	hits := 0
	for i := range 200 * restWindow {
		if m.look(numbered(-i%100), i, 10) != nil {
			hits++
		}
	}
	if share := float64(hits) / (200 * restWindow); share < 0.5 {
		t.Errorf("%.2f of sets that come again are found", share)
	}
}

func TestFindLoose(t *testing.T) {
	name := tensorconv.OpName("matmul")
	for _, tt := range []struct {
		what  string
		attrs []attribute.KeyValue
		want  looseAttributes
	}{
		{"none", []attribute.KeyValue{name}, looseAttributes{placeNone, placeNone}},
		{"both", []attribute.KeyValue{name, tensorconv.DeviceID("cpu"), tensorconv.Step(1)}, looseAttributes{2, 1}},
		{"first", []attribute.KeyValue{tensorconv.Step(1), name}, looseAttributes{0, placeNone}},
		{"twice", []attribute.KeyValue{tensorconv.Step(1), name, tensorconv.Step(1), tensorconv.DeviceID("a")}, looseAttributes{placeBad, 3}},
		{"three times", []attribute.KeyValue{tensorconv.Step(1), tensorconv.Step(1), tensorconv.Step(1)}, looseAttributes{placeBad, placeNone}},
		{"other types", []attribute.KeyValue{attribute.String(op.KeyStep, "1"), attribute.Int(op.KeyDevice, 1)}, looseAttributes{placeBad, placeBad}},
		{"a bad one first", []attribute.KeyValue{attribute.Float64(op.KeyStep, 1), tensorconv.Step(1)}, looseAttributes{placeBad, placeNone}},
	} {
		if got := findLoose(tt.attrs); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.what, got, tt.want)
		}
	}
}

// Whatever is left out of a comparison, the rest of a set counts.
func TestMemoKeyEqual(t *testing.T) {
	base := func() []attribute.KeyValue {
		return []attribute.KeyValue{tensorconv.OpName("matmul"), tensorconv.DeviceID("cuda:0"), tensorconv.Step(1), tensorconv.DType(op.F32), attribute.Float64("x", math.NaN())}
	}
	key := func(attrs []attribute.KeyValue) *memoKey { return &memoKey{attrs: attrs, loose: findLoose(attrs)} }
	if !key(base()).equal(key(base())) {
		t.Error("equal sets are told apart")
	}
	for i, want := range []bool{false, true, true, false, false} {
		changed := base()
		changed[i].Value = attribute.StringValue("other")
		if i == 2 {
			changed[i].Value = attribute.IntValue(7)
		}
		if got := key(base()).equal(key(changed)); got != want {
			t.Errorf("attribute %d changed: equal is %v, want %v", i, got, want)
		}
	}
	m := attributeMemo[int]{seed: maphash.MakeSeed()}
	if a, b := m.hash(key(base())), m.hash(key(base()[:4])); a == b {
		t.Error("the last attribute makes no difference to the hash")
	}
}

// Sets whose memory is another one every time are found by their content, and
// those whose memory comes again by their memory before long.
func TestAttributeMemoFindsContent(t *testing.T) {
	shapes := func(n int64) []attribute.KeyValue {
		return []attribute.KeyValue{
			tensorconv.OpName("matmul" + strconv.FormatInt(n%7, 10)), tensorconv.DeviceID("cuda:0"), tensorconv.InputShapes([]int64{n, 784}, []int64{784, 256}), tensorconv.OutputShape(n, 256),
		}
	}
	const sets = 1000
	m := attributeMemo[int64]{budget: maxMemoBytes}
	for round := range 3 {
		for n := range int64(sets) {
			found := m.look(shapes(n), n, 10)
			if round > 0 && (found == nil || *found != n) {
				t.Fatalf("round %d: set %d is %v", round, n, found)
			}
		}
	}
	if m.used != sets {
		t.Errorf("%d sets are held, want %d", m.used, sets)
	}

	// The same content in two memories each, both of which stay.
	var stay [2 * sets][]attribute.KeyValue
	for i := range stay {
		stay[i] = shapes(int64(i % sets))
	}
	for range 40 {
		for i, attrs := range stay {
			if found := m.look(attrs, int64(i%sets), 10); found != nil && *found != int64(i%sets) {
				t.Fatalf("set %d is found as %d", i, *found)
			}
		}
	}
	byMemory := 0
	for _, attrs := range stay {
		if set, _ := m.lookUp(&memoKey{attrs: attrs, loose: findLoose(attrs)}); set != nil {
			byMemory++
		}
	}
	if byMemory < len(stay)*9/10 {
		t.Errorf("%d of %d sets are found by their memory", byMemory, len(stay))
	}
}

// Lists that are equal and encoded differently are not taken for each other.
func TestAttributeMemoTellsZerosApart(t *testing.T) {
	m := attributeMemo[float64]{budget: maxMemoBytes}
	negative := math.Copysign(0, -1)
	for range 3 {
		for _, zero := range []float64{0, negative} {
			for _, v := range []attribute.Value{
				attribute.Float64Value(zero), attribute.Float64SliceValue([]float64{zero}),
				attribute.SliceValue(attribute.Float64SliceValue([]float64{zero})),
				attribute.SliceValue(attribute.SliceValue(attribute.Float64SliceValue([]float64{zero}))),
				attribute.MapValue(attribute.Float64("x", zero)),
			} {
				attrs := []attribute.KeyValue{tensorconv.OpName("matmul"), {Key: "x", Value: v}}
				if found := m.look(attrs, zero, 10); found != nil && math.Signbit(*found) != math.Signbit(zero) {
					t.Errorf("%v of %v is found as %v", v.Type(), zero, *found)
				}
			}
		}
	}
}
