package seed

import (
	"math/rand/v2"
	"sync"
	"testing"
)

func TestColumnsConcurrentSafe(t *testing.T) {
	columns := NewColumns(wildTrace(rand.New(rand.NewPCG(5, 6)), 3000, false))
	s := columns.Summary()
	want := s.FlamegraphCollapsed()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if s.FlamegraphCollapsed() != want || columns.Summary().FlamegraphCollapsed() != want || len(columns.SlowestOps(3)) != 3 {
				t.Error("another result")
			}
		})
	}
	group.Wait()
}
