// Package parallel runs functions in several goroutines.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Do calls the functions in at most GOMAXPROCS goroutines, in order, and returns after the last has returned. The
// functions must be independent.
func Do(functions ...func()) { Each(len(functions), func(i int) { functions[i]() }) }

// Each is Do of n calls of do, with the numbers from 0.
func Each(n int, do func(i int)) {
	var next atomic.Int32
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
}
