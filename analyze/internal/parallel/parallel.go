// Package parallel runs functions in several goroutines.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Do calls the functions in at most GOMAXPROCS goroutines, in order, and returns after the last has returned. The
// functions must be independent.
func Do(functions ...func()) {
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
