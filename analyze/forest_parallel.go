package analyze

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// inParallel calls the functions, which must not depend on each other, in as many
// goroutines as there are processors. The first ones are begun first.
func inParallel(functions ...func()) {
	var next atomic.Int32
	var group sync.WaitGroup
	for range min(len(functions), runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(functions); i = int(next.Add(1)) - 1 {
				functions[i]()
			}
		})
	}
	group.Wait()
}
