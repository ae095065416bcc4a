package recent

import (
	"math/rand/v2"
	"testing"
)

// A table is a map, with few values and with many.
func TestTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var got Table[int, int]
	want := make(map[int]int)
	bytes := make(map[int]int)
	most := 4
	for i := range 60_000 {
		if i%2000 == 0 {
			most = []int{2, maxSearched, maxSearched + 1, 100}[rng.IntN(4)]
		}
		key := 1 + rng.IntN(120)
		_, known := want[key]
		switch {
		case known && rng.IntN(3) == 0:
			n := rng.IntN(50)
			got.Grow(key, n)
			bytes[key] += n
		case known && (len(want) > most || rng.IntN(2) == 0):
			if !got.Remove(key) {
				t.Fatalf("step %d: %d is not there", i, key)
			}
			delete(want, key)
			delete(bytes, key)
		case !known && len(want) < most:
			n := rng.IntN(50)
			got.Add(key, i, n)
			want[key] = i
			bytes[key] = n
		case !known && rng.IntN(2) == 0:
			if got.Remove(key) {
				t.Fatalf("step %d: %d is there", i, key)
			}
			got.Grow(key, 100)
		case len(want) > most:
			evicted, value, ok := got.Evict(key)
			if v, known := want[evicted]; !ok || !known || v != value || evicted == key {
				t.Fatalf("step %d: evicts %d, %d, %v", i, evicted, value, ok)
			}
			delete(want, evicted)
			delete(bytes, evicted)
		}
		v := got.Find(key)
		if value, ok := want[key]; ok != (v != nil) || ok && *v != value {
			t.Fatalf("step %d: %d is %v, want %v %v", i, key, v, value, ok)
		}
		sum := 0
		for _, n := range bytes {
			sum += n + got.overhead()
		}
		if got.Len() != len(want) || got.index != nil && len(got.index) != len(want) || got.Bytes() != sum {
			t.Fatalf("step %d: %d values, %d in the index, want %d; %d bytes, want %d",
				i, got.Len(), len(got.index), len(want), got.Bytes(), sum)
		}
	}
}

// Used values stay; unused ones are evicted in turn.
func TestEvict(t *testing.T) {
	const size, used = 100, 7
	var table Table[int, string]
	evicted := make(map[int]bool)
	for i := range 20 * size {
		table.Add(i, "", 0)
		if i > used && table.Find(used) == nil {
			t.Fatalf("the value that is used is evicted after %d", i)
		}
		if table.Len() > size {
			key, _, ok := table.Evict(i)
			if !ok || key == used || key == i {
				t.Fatalf("evicts %d, %v after %d", key, ok, i)
			}
			evicted[key] = true
		}
	}
	for i := range 10 * size {
		if i != used && !evicted[i] {
			t.Errorf("%d is not used and stays", i)
		}
	}
}

func TestEvictTheLast(t *testing.T) {
	var table Table[int, int]
	if _, _, ok := table.Evict(0); ok {
		t.Error("evicts from an empty table")
	}
	table.Add(1, 10, 0)
	if _, _, ok := table.Evict(1); ok {
		t.Error("evicts what it must not")
	}
	if key, value, ok := table.Evict(0); key != 1 || value != 10 || !ok || table.Len() != 0 || table.Bytes() != 0 {
		t.Errorf("evicts %d, %d, %v; %d values, %d bytes are left", key, value, ok, table.Len(), table.Bytes())
	}
}
