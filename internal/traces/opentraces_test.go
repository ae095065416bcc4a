package traces

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"go.opentelemetry.io/otel/trace"
)

// openTraces does what a map does, with few traces and with many.
func TestOpenTraces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var got openTraces
	want := make(map[trace.TraceID]int)
	id := func(n int) (id trace.TraceID) {
		binary.BigEndian.PutUint64(id[:], uint64(n+1))
		return id
	}
	most := 4
	for i := range 40_000 {
		if i%2000 == 0 {
			most = []int{2, maxSearched, maxSearched + 1, 100}[rng.IntN(4)]
		}
		n := rng.IntN(120)
		_, known := want[id(n)]
		switch {
		case known && (len(want) > most || rng.IntN(2) == 0):
			got.remove(got.indexOf(id(n)))
			delete(want, id(n))
		case !known && len(want) < most:
			got.add(traceRoots{id: id(n), open: n})
			want[id(n)] = n
		}
		tr := got.find(id(n))
		if open, ok := want[id(n)]; ok != (tr != nil) || ok && tr.open != open {
			t.Fatalf("step %d: trace %d is %+v, want %v %v", i, n, tr, open, ok)
		}
		if len(got.list) != len(want) || got.index != nil && len(got.index) != len(want) {
			t.Fatalf("step %d: %d traces, %d in the index, want %d", i, len(got.list), len(got.index), len(want))
		}
	}
}
