package traces

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"github.com/optrace/optrace/op"
)

func traceID(n int) (id op.TraceID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n)*0x9e3779b97f4a7c15)
	return id
}

func TestWithOps(t *testing.T) {
	var w WithOps
	if w.Has(traceID(1)) || w.table.Load() != nil {
		t.Error("an empty set holds a trace or memory")
	}
	if n := unsafe.Sizeof(w); n > 64 {
		t.Errorf("a set that is not used takes %d bytes", n)
	}
	const traces = slots / 8
	for n := range traces {
		w.Add(traceID(n))
	}
	missing := 0
	for n := range traces {
		if !w.Has(traceID(n)) {
			missing++
		}
	}
	if missing > traces/50 {
		t.Errorf("%d of %d traces are forgotten", missing, traces)
	}
	for n := range 20 * slots {
		w.Add(traceID(traces + n))
	}
	if w.Has(traceID(0)) {
		t.Error("a trace stays although many newer ones have been added")
	}
}

func TestWithOpsConcurrentSafe(t *testing.T) {
	var w WithOps
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for n := range 1000 {
				w.Add(traceID(g*1000 + n))
				w.Has(traceID(n))
			}
		})
	}
	wg.Wait()
	w.Add(traceID(7))
	if !w.Has(traceID(7)) {
		t.Error("a trace that has just been added is not found")
	}
}

// A trace is known until some sixteen thousand others came.
func TestTracesAreKnownForLong(t *testing.T) {
	const marked, others = 1000, 16_000
	r := rand.New(rand.NewPCG(1, 2))
	random := func() (id op.TraceID) {
		binary.BigEndian.PutUint64(id[:], r.Uint64())
		binary.BigEndian.PutUint64(id[8:], r.Uint64())
		return id
	}
	var s set
	ids := make([]op.TraceID, marked)
	for i := range ids {
		ids[i] = random()
		s.Add(ids[i])
	}
	for range others {
		s.Add(random())
	}
	known := 0
	for _, id := range ids {
		if s.Has(id) {
			known++
		}
	}
	if known < marked*99/100 {
		t.Errorf("%d of %d traces are known after %d others", known, marked, others)
	}
}
